#include "caffe/inference/calibrator.hpp"

#include <algorithm>
#include <filesystem>

#include "caffe/inference/quantize/calibration_data.hpp"
#include "caffe/inference/quantize/calibration_report.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/text_table.hpp"
#include "caffe/util/text_file.hpp"
#include "output_comparison.hpp"

namespace caffe {
namespace {

std::vector<std::string> NamesOf(const ActivationStatistics& statistics) {
  std::vector<std::string> names;
  for (const BlobStatistics& blob : statistics.blobs()) names.push_back(blob.blob);
  return names;
}

std::string Named(const BlobStatistics& blob) {
  return Join("blob '", blob.blob, "' of layer '", blob.layer, "'");
}

/// Why a blob cannot be calibrated; "" if it can.
std::string FaultOf(const BlobStatistics& blob) {
  const Histogram& histogram = blob.histogram;
  const int64_t bad = histogram.not_a_number() + histogram.infinite();
  if (bad > 0) {
    return Join(Named(blob), " has ", histogram.not_a_number(), " NaN and ", histogram.infinite(),
                " infinite of ", histogram.count(), " values: input and weights are damaged or do ",
                "not go together");
  }
  const std::string remedy =
      Join("; give other images, or leave the blob float (-leave_out ", blob.blob, ")");
  if (histogram.nonzeros() == 0) return Named(blob) + " is zero on all images" + remedy;
  if (histogram.IsConstant()) {
    return Join(Named(blob), " is ", histogram.minimum(), " everywhere on all images", remedy);
  }
  return "";
}

void RequireUseful(const ActivationStatistics& statistics, const CalibrationOptions& options) {
  Require(!statistics.blobs().empty(), "net '", statistics.net().name(),
          "' computes nothing that can be quantized");
  const std::vector<std::string> names = NamesOf(statistics);
  for (const std::string& name : options.leave_out) {
    Require(std::count(names.begin(), names.end(), name) > 0, Error::Field{"-leave_out"},
            ": the net has no blob '", name, "' that is calibrated", DidYouMean(name, names));
  }
  std::string faults;
  for (const BlobStatistics& blob : statistics.blobs()) {
    // Non-finite values reach other blobs: leaving one out does not help.
    const bool finite = blob.histogram.not_a_number() + blob.histogram.infinite() == 0;
    if (finite && options.leave_out.count(blob.blob) > 0) continue;
    const std::string fault = FaultOf(blob);
    if (!fault.empty()) faults += (faults.empty() ? "" : "\n") + fault;
    if (!finite) break;  // the rest are equal
  }
  Require(faults.empty(), faults);
}

void AddWeightScales(const Net<float>& net, CalibrationTable* table) {
  for (const auto& layer : net.layers()) {
    const LayerParameter& param = layer->layer_param();
    if (!HasWeightScales(param.type()) || layer->blobs().empty()) continue;
    const Blob<float>& weights = *layer->blobs()[0];
    table->SetWeightScales(param.name(),
                           WeightScales(param, weights.shape(), weights.cpu_data_as<float>()));
  }
}

void AddChannelsOf(const BlobStatistics& blob, CalibrationTable* table) {
  if (blob.channels.empty()) return;
  std::vector<float> means;
  for (const double sum : blob.sums) means.push_back(static_cast<float>(sum / blob.values));
  table->SetChannelRanges(blob.blob, blob.channels);
  table->SetChannelMeans(blob.blob, std::move(means));
}

/// The cache as a table, if it is for this net; else one without blobs.
CalibrationTable TableFromCache(const std::string& cache, const Net<float>& net,
                                const CalibrationOptions& options) {
  if (cache.empty()) return CalibrationTable();
  const CalibrationTable table = CalibrationTable::Parse(cache, "calibration cache");
  const std::string stale = table.WhatIsStale(FingerprintOf(net));
  if (!stale.empty()) {
    LOG(WARNING) << "The " << stale << ": recalibrating";
    return CalibrationTable();
  }
  for (const std::string& blob : MissingBlobs(table, net)) {
    if (options.leave_out.count(blob) == 0) table.At(blob);  // throws an Error with a remedy
  }
  return table;
}

}  // namespace

int64_t Calibrator::Batches(const Net<float>&) const { return 0; }

BatchCalibrator::BatchCalibrator(std::unique_ptr<InputBatches> batches, int64_t most_batches,
                                 const std::string& cache_file)
    : batches_(std::move(batches)), most_batches_(most_batches), cache_file_(cache_file) {
  Require(most_batches >= 0, "the number of batches must not be negative, got ", most_batches);
}

int64_t BatchCalibrator::GetBatch(Net<float>* net) {
  Require(batches_ != nullptr, "the calibrator has no data",
          Error::Remedy{"give it batches or override GetBatch"});
  if (most_batches_ > 0 && next_ >= most_batches_) return 0;
  if (!batches_->Feed(static_cast<int>(next_), net)) return 0;
  ++next_;
  return batches_->images();
}

int64_t BatchCalibrator::Batches(const Net<float>& net) const {
  const int64_t all = batches_ ? batches_->batches(net) : 0;
  if (most_batches_ == 0 || all == 0) return std::max(all, most_batches_);
  return std::min(all, most_batches_);
}

std::string BatchCalibrator::ReadCalibrationCache() {
  if (cache_file_.empty() || !std::filesystem::exists(cache_file_)) return "";
  return ReadTextFile(cache_file_);
}

void BatchCalibrator::WriteCalibrationCache(const std::string& cache) {
  if (cache_file_.empty()) return;
  AtomicFile file(cache_file_);
  file.Write(cache.data(), cache.size());
  file.Commit();
}

double EntropyCalibrator::ChooseThreshold(const Histogram& histogram) const {
  return EntropyThreshold(histogram, histogram.IsNonNegative());
}

double MinMaxCalibrator::ChooseThreshold(const Histogram& histogram) const {
  return MinMaxThreshold(histogram);
}

void PercentileCalibrator::set_percent(double percent) {
  Require(percent > 0 && percent <= 100, "a percentile lies above 0 and at most at 100, not at ",
          percent);
  percent_ = percent;
}

double PercentileCalibrator::ChooseThreshold(const Histogram& histogram) const {
  return PercentileThreshold(histogram, percent_);
}

double MseCalibrator::ChooseThreshold(const Histogram& histogram) const {
  return MseThreshold(histogram, StepsOf(histogram.IsNonNegative()));
}

void AutoCalibrator::set_percent(double percent) {
  PercentileCalibrator().set_percent(percent);  // checks it
  percent_ = percent;
}

double AutoCalibrator::ChooseThreshold(const Histogram& histogram) const {
  return MseCalibrator().ChooseThreshold(histogram);
}

std::vector<std::shared_ptr<const Calibrator>> AutoCalibrator::Candidates() const {
  const auto percentile = std::make_shared<PercentileCalibrator>();
  percentile->set_percent(percent_);
  return {std::make_shared<MseCalibrator>(), percentile, std::make_shared<EntropyCalibrator>(),
          std::make_shared<MinMaxCalibrator>()};
}

CalibrationData CollectCalibrationData(Net<float>* net, Calibrator* calibrator,
                                       const CalibrationOptions& options) {
  CalibrationData data(net);
  std::shared_ptr<inference::ImageSample> sample;
  if (!calibrator->Candidates().empty()) sample = std::make_shared<inference::ImageSample>(*net);
  while (const int64_t images = calibrator->GetBatch(net)) {
    Require(images > 0, "GetBatch returned ", images, " images");
    data.statistics.Forward(sample ? sample->Offer(images, net) : 0);
    data.images += images;
    if (options.progress) options.progress(data.statistics.batches(), data.images);
  }
  Require(data.images >= options.minimum_images, "calibration needs ", options.minimum_images,
          " images or more, there are ", data.images,
          ": thresholds would be those of single images (-min_images changes the limit)");
  RequireUseful(data.statistics, options);
  data.sample = std::move(sample);
  return data;
}

namespace {

CalibrationTable TableBy(const Calibrator& calibrator, const CalibrationData& data,
                         const CalibrationOptions& options) {
  const std::vector<BlobStatistics>& blobs = data.statistics.blobs();
  std::vector<BlobCalibration> calibrations(blobs.size());
  kernels::ParallelFor(blobs.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Histogram& histogram = blobs[i].histogram;
      if (options.leave_out.count(blobs[i].blob) > 0) continue;
      calibrations[i] = {calibrator.ChooseThreshold(histogram), histogram.IsNonNegative(),
                         histogram.minimum(), histogram.maximum(), calibrator.method()};
    }
  });
  CalibrationTable table;
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (options.leave_out.count(blobs[i].blob) > 0) continue;
    table.Set(blobs[i].blob, calibrations[i]);
    AddChannelsOf(blobs[i], &table);
  }
  const Net<float>& net = data.statistics.net();
  table.set_images(data.images);
  table.set_fingerprint(FingerprintOf(net));
  if (options.weight_scales) AddWeightScales(net, &table);
  return table;
}

/// "mse 1.24 %"; of detections "mse 2.10 % (0.80 %)".
std::string Figures(const std::string& method, const inference::OutputError& error, bool boxes) {
  const std::string text = method + " " + PercentText(error.outputs);
  return boxes ? Join(text, " (", PercentText(error.box_inputs), ")") : text;
}

/// The table of the candidate whose outputs are closest to those in FLOAT; its comment has the
/// error of each. Throws Error if the net cannot be built as an engine.
CalibrationTable BestTable(const std::vector<std::shared_ptr<const Calibrator>>& candidates,
                           const CalibrationData& data, const CalibrationOptions& options) {
  const inference::OutputComparison comparison(data.statistics.net(), *data.sample);
  const bool boxes = comparison.has_detections();
  std::string comment = Join(
      boxes ? "boxes without a partner (error of what they are made of)" : "error of the outputs",
      " on ", data.sample->images(), " of ", data.images, " images: ");
  CalibrationTable best;
  std::string chosen;
  inference::OutputError least;
  const int count = static_cast<int>(candidates.size());
  for (int i = 0; i < count; ++i) {
    if (options.candidate_progress) options.candidate_progress(i, count);
    CalibrationTable table = TableBy(*candidates[i], data, options);
    const inference::OutputError error = comparison.ErrorOf(table);
    comment += (i == 0 ? "" : ", ") + Figures(candidates[i]->method(), error, boxes);
    if (i > 0 && !(error < least)) continue;
    least = error;
    best = std::move(table);
    chosen = candidates[i]->method();
  }
  if (options.candidate_progress) options.candidate_progress(count, count);
  best.AddComment(Join(comment, ": ", chosen));
  return best;
}

}  // namespace

CalibrationTable MakeCalibrationTable(const CalibrationData& data, const Calibrator& calibrator,
                                      const CalibrationOptions& options) {
  const auto candidates = calibrator.Candidates();
  if (candidates.empty()) return TableBy(calibrator, data, options);
  std::string why;
  try {
    Require(data.sample != nullptr, "no images were kept: the data come from another calibrator");
    return BestTable(candidates, data, options);
  } catch (const Error& error) {
    why = error.what();
    LOG(WARNING) << "Calibrators cannot be compared by the net's outputs: " << why;
  }
  CalibrationTable table = TableBy(*candidates[0], data, options);
  table.AddComment(Join(candidates[0]->method(),
                        ", without a comparison of outputs: ", why.substr(0, why.find('\n'))));
  return table;
}

CalibrationTable Calibrate(Net<float>* net, Calibrator* calibrator,
                           const CalibrationOptions& options) {
  const CalibrationTable cached = TableFromCache(calibrator->ReadCalibrationCache(), *net, options);
  if (!cached.blobs().empty()) return cached;
  const CalibrationData data = CollectCalibrationData(net, calibrator, options);
  const CalibrationTable table = MakeCalibrationTable(data, *calibrator, options);
  if (options.minimum_images == 0 && data.images < CalibrationOptions::kEnoughImages) {
    LOG(WARNING) << "Calibrated on " << data.images << " images: thresholds are better with "
                 << CalibrationOptions::kEnoughImages
                 << " or more like those that the net will see";
  }
  const std::string noise = NoiseReport(table, data.statistics);
  if (!noise.empty()) LOG(WARNING) << noise;
  calibrator->WriteCalibrationCache(table.Text());
  return table;
}

std::vector<std::string> MissingBlobs(const CalibrationTable& table, const Net<float>& net) {
  const ValueGraph graph(net);
  std::vector<std::string> missing;
  for (int v : QuantizableValues(net, graph)) {
    if (!table.Find(graph.values[v].name)) missing.push_back(graph.values[v].name);
  }
  return missing;
}

std::unique_ptr<Calibrator> MakeCalibrator(const std::string& method,
                                           std::unique_ptr<InputBatches> batches,
                                           int64_t most_batches, double percent) {
  if (method == "entropy") {
    return std::make_unique<EntropyCalibrator>(std::move(batches), most_batches);
  }
  if (method == "minmax") {
    return std::make_unique<MinMaxCalibrator>(std::move(batches), most_batches);
  }
  if (method == "mse") return std::make_unique<MseCalibrator>(std::move(batches), most_batches);
  if (method == "auto") {
    auto calibrator = std::make_unique<AutoCalibrator>(std::move(batches), most_batches);
    calibrator->set_percent(percent);
    return calibrator;
  }
  Require(method == "percentile", "calibrator '", method,
          "' is not known: valid are auto, entropy, minmax, percentile and mse");
  auto calibrator = std::make_unique<PercentileCalibrator>(std::move(batches), most_batches);
  calibrator->set_percent(percent);
  return calibrator;
}

}  // namespace caffe
