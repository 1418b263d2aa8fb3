#include "engine_building.hpp"

#include <algorithm>
#include <utility>

#include "caffe/fp16/range_rewriting.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/progress.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe {

std::unique_ptr<Net<float>> FloatNet(NetParameter param, const std::vector<std::string>& weights) {
  ClearTypes(&param);
  auto net = std::make_unique<Net<float>>(param);
  for (const std::string& file : weights) net->CopyTrainedLayersFrom(file);
  return net;
}

size_t BytesOfMegabytes(const std::string& flag, double megabytes) {
  Require(megabytes >= 0 && megabytes < 1e9, flag, " must not be negative, got ", megabytes);
  return static_cast<size_t>(megabytes * (1 << 20));
}

Shape ParseShape(const std::string& flag, const std::string& text) {
  Shape shape;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('x', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const bool number = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    Require(number && std::stoi(part) > 0, flag, ": '", text,
            "' is not a shape such as 1x3x300x300");
    shape.push_back(std::stoi(part));
    begin = end + 1;
  }
  return shape;
}

std::shared_ptr<const CalibrationTable> ReadTable(const std::string& file, const Net<float>& net,
                                                  const NetParameter& param, std::ostream& out) {
  NetParameter filtered;
  Net<float>::FilterNet(param, &filtered);
  const auto table =
      std::make_shared<const CalibrationTable>(ReadAnyCalibrationTable(file, filtered));
  const std::string stale = table->WhatIsStale(FingerprintOf(net));
  if (!stale.empty()) {
    out << "note: the " << stale
        << "; its thresholds are taken, make it again with caffe calibrate\n";
  }
  const std::vector<std::string> missing = MissingBlobs(*table, net);
  if (!missing.empty()) {
    out << "note: " << file << " lacks " << ListedQuoted(missing, 5)
        << ": layers that read or write them in INT8 stay FP32\n";
  }
  return table;
}

CachedBuilder::CachedBuilder(std::string timing_cache, std::ostream* out)
    : file_(std::move(timing_cache)), out_(out) {
  if (file_.empty()) return;
  cache_ = std::make_shared<inference::TimingCache>(file_);
  { AtomicFile probe(file_); }  // an Error before the work, not after it
}

std::shared_ptr<const inference::Engine> CachedBuilder::Build(
    const inference::NetworkDefinition& net, inference::BuilderConfig config) const {
  std::unique_ptr<Progress> progress;
  int latest = 0, total = 0;
  config.timing_cache = cache_;
  config.progress = [&](int done, int of, const std::string&) {
    // -precision best builds several engines one after another.
    if (!progress || done < latest || of != total) {
      progress = std::make_unique<Progress>("layer", of, done);
    }
    latest = done;
    total = of;
    progress->Update(done);
  };
  const auto other_remark = config.remark;
  config.remark = [&](const std::string& line) {
    if (!said_->insert(line).second) return;
    if (progress) progress->Clear();
    *out_ << "note: " << line << '\n';
    if (other_remark) other_remark(line);
  };
  if (const auto show = config.on_candidates) {
    config.on_candidates = [&progress, show](const inference::LayerCandidates& candidates) {
      if (progress) progress->Clear();
      show(candidates);
    };
  }
  auto engine = inference::Builder(std::move(config)).Build(net);
  if (progress) progress->Clear();
  WriteCache();
  return engine;
}

// The engine is worth more than the times.
void CachedBuilder::WriteCache() const {
  if (!cache_) return;
  try {
    cache_->Write(file_);
  } catch (const Error& error) {
    *out_ << "note: the timing cache is not written: " << error.what() << '\n';
  }
}

std::string TimeText(double microseconds) {
  if (microseconds <= 0) return "-";
  return microseconds < 1000 ? ThreeDigits(microseconds) + " us"
                             : ThreeDigits(microseconds / 1000) + " ms";
}

std::string ThreadsText(int threads) {
  return Join(threads, threads == 1 ? " thread" : " threads");
}

}  // namespace caffe
