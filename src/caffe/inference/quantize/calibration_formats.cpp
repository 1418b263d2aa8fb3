#include "caffe/inference/quantize/calibration_formats.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "caffe/core/error_context.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/operation.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text_file.hpp"
#include "text_numbers.hpp"

namespace caffe {
namespace {

const char kTensorRt[] = "TRT-";
const char kOurs[] = "cortado ";

/// Calls parse(line, number) for each line, without what ends it; an Error gets file and line.
void ForEachLine(const std::string& text, const std::string& name,
                 const std::function<void(const std::string&, int)>& parse) {
  StringReader stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    try {
      parse(line, number);
    } catch (Error& error) {
      AddFile(name, Join(", line ", number), &error);
      throw;
    }
  }
  Require(number > 0, Error::File{name}, ": the file is empty");
}

void RequireBlobs(const CalibrationTable& table) {
  Require(!table.blobs().empty(), Error::File{table.name()}, ": the file has no blob's scale",
          Error::Remedy{"calibrate again"});
}

float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

std::string MethodOf(const std::string& header) {
  if (header.find("MinMax") != std::string::npos) return "minmax";
  return header.find("Entropy") != std::string::npos ? "entropy" : "";
}

/// The first bottoms of a net's layers, by the names that values have in engines (ValueGraph, which
/// needs the shapes): where layers work in place a blob is several values.
class FirstBottoms {
 public:
  explicit FirstBottoms(const NetParameter& net) {
    for (const LayerParameter& layer : net.layer()) Visit(layer);
  }

  bool Has(const std::string& layer) const { return first_.count(layer) > 0; }
  std::string Of(const std::string& layer) const { return NameOf(values_[first_.at(layer)]); }
  std::vector<std::string> layers() const {
    std::vector<std::string> names;
    for (const auto& first : first_) names.push_back(first.first);
    return names;
  }

 private:
  struct Value {
    std::string blob, producer, overwriter;
    bool is_fed;  // to the net
  };

  void Visit(const LayerParameter& layer) {
    for (const std::string& bottom : layer.bottom()) {
      if (newest_.count(bottom) == 0) Add({bottom, "", "", true});
    }
    if (layer.bottom_size() > 0) first_[layer.name()] = newest_.at(layer.bottom(0));
    const Operation& operation = OperationTable::Of(layer.type());
    const bool is_fed = operation.source && layer.type() != "DummyData";
    for (int i = 0; i < layer.top_size(); ++i) {
      const bool in_place = i < layer.bottom_size() && layer.bottom(i) == layer.top(i);
      if (in_place) values_[newest_.at(layer.top(i))].overwriter = layer.name();
      Add({layer.top(i), layer.name(), "", is_fed});
    }
  }

  void Add(const Value& value) {
    newest_[value.blob] = values_.size();
    values_.push_back(value);
    if (value.is_fed) fed_.insert(value.blob);
  }

  std::string NameOf(const Value& value) const {
    if (value.is_fed) return value.blob;
    if (!value.overwriter.empty()) return value.blob + "_before_" + value.overwriter;
    return fed_.count(value.blob) > 0 ? value.blob + "_after_" + value.producer : value.blob;
  }

  std::map<std::string, size_t> newest_, first_;  // values, by blob and by layer
  std::vector<Value> values_;
  std::set<std::string> fed_;
};

/// An output channel of zeros has no factor: ncnn writes 0 or inf. It gets the scale that
/// WeightScales gives it.
float WeightScaleOf(double factor) {
  const float scale = static_cast<float>(1 / factor);
  return std::isnormal(scale) ? scale : 1;
}

constexpr char kMakeAgain[] = "make the table again with ncnn2table";

/// The layer whose weights a line of an ncnn table is about; "" if it is about a bottom.
std::string OwnerOfWeights(const std::string& key, const FirstBottoms& bottoms) {
  const std::string suffix = "_param_0";
  if (bottoms.Has(key) || key.size() <= suffix.size()) return "";
  const size_t stem = key.size() - suffix.size();
  return key.compare(stem, suffix.size(), suffix) == 0 ? key.substr(0, stem) : "";
}

std::vector<double> ParsedFactors(StringReader* words, const std::string& layer, bool of_weights) {
  std::vector<double> factors;
  for (std::string word; *words >> word;) {
    const double factor = ParsedNumber<double>(word, "the scale");
    const bool valid = of_weights ? factor >= 0 : factor > 0 && std::isfinite(factor);
    Require(valid, "layer '", Error::Layer{layer}, "': the scale ", word,
            " is not a number above 0", Error::Remedy{kMakeAgain});
    factors.push_back(factor);
  }
  Require(!factors.empty(), "no scale behind '", Error::Layer{layer}, "'",
          Error::Remedy{kMakeAgain});
  return factors;
}

[[noreturn]] void FailForLayer(const std::string& layer, const std::vector<std::string>& layers) {
  Fail("the net has no layer '", layer, "'", DidYouMean(layer, layers));
}

}  // namespace

CalibrationTable ParseTensorRtCache(const std::string& text, const std::string& name) {
  CalibrationTable table;
  table.set_name(name);
  std::string method;
  ForEachLine(text, name, [&](const std::string& line, int number) {
    if (number == 1) {
      Require(line.rfind(kTensorRt, 0) == 0, "a TensorRT cache begins with TRT-<version>-...");
      Require(line.find('\r') == std::string::npos, "its lines end in CR alone",
              Error::Remedy{"let them end in LF, as with tr '\\r' '\\n'"});
      method = MethodOf(line);
      return;
    }
    if (line.find_first_not_of(" \t") == std::string::npos) return;
    // The last one: names may contain colons. A script that took the zeros off a number may have
    // left nothing of it.
    const size_t colon = line.rfind(':');
    Require(colon != std::string::npos && colon > 0, "'", line, "' is not '<tensor>: <hex>'");
    const std::string blob = line.substr(0, colon);
    const size_t digits = line.find_first_not_of(" \t", colon + 1);
    if (digits == std::string::npos) return;
    std::string hex = line.substr(digits);
    hex.erase(hex.find_last_not_of(" \t") + 1);
    const float scale = FloatOfBits(static_cast<uint32_t>(ParsedHex(hex, 8, "the scale")));
    if (scale == 0) return;
    Require(std::isnormal(scale) && scale > 0, "tensor '", blob, "': the scale ", scale,
            " is no normal number above 0");
    Require(table.Find(blob) == nullptr, "tensor '", blob, "' is there twice");
    BlobCalibration calibration;
    calibration.threshold = double(scale) * kInt8Steps;
    calibration.method = method;
    table.SetExactly(blob, calibration);
  });
  RequireBlobs(table);
  return table;
}

std::string TensorRtHeader(const CalibrationTable& table, const std::string& version) {
  bool minmax = !table.blobs().empty();
  for (const std::string& blob : table.blobs()) minmax &= table.At(blob).method == "minmax";
  return Join(kTensorRt, version, minmax ? "-MinMaxCalibration" : "-EntropyCalibration2");
}

std::string TensorRtCache(const CalibrationTable& table, const std::string& header) {
  Require(header.rfind(kTensorRt, 0) == 0 && header.find('\n') == std::string::npos, "'", header,
          "': a TensorRT cache begins with a line TRT-<version>-<algorithm>");
  std::string text = header + "\n";
  for (const std::string& blob : table.blobs()) {
    Require(blob.find('\n') == std::string::npos, "blob '", blob,
            "': a TensorRT cache holds no names with line feeds");
    const float scale = static_cast<float>(table.At(blob).threshold / kInt8Steps);
    Require(std::isnormal(scale), "blob '", blob, "': the scale ", scale, " is no normal float");
    text += blob + ": " + HexText(BitsOf(scale)) + "\n";
  }
  return text;
}

CalibrationTable ParseNcnnTable(const std::string& text, const std::string& name,
                                const NetParameter& net) {
  const FirstBottoms bottoms(net);
  CalibrationTable table;
  table.set_name(name);
  std::set<std::string> keys;
  ForEachLine(text, name, [&](const std::string& line, int) {
    StringReader words(line);
    std::string key;
    if (!(words >> key)) return;
    Require(keys.insert(key).second, "'", key, "' is there twice",
            Error::Remedy{"leave one of the lines out"});
    const std::string owner = OwnerOfWeights(key, bottoms);
    const std::string& layer = owner.empty() ? key : owner;
    if (!bottoms.Has(layer)) FailForLayer(layer, bottoms.layers());
    const std::vector<double> factors = ParsedFactors(&words, layer, !owner.empty());
    if (!owner.empty()) {
      std::vector<float> scales;
      for (const double factor : factors) scales.push_back(WeightScaleOf(factor));
      table.SetWeightScales(owner, std::move(scales));
      return;
    }
    Require(factors.size() == 1, "layer '", Error::Layer{layer},
            "': one scale is expected for its bottom, not ", factors.size(),
            Error::Remedy{kMakeAgain});
    BlobCalibration calibration;
    calibration.threshold = kInt8Steps / factors[0];
    const std::string blob = bottoms.Of(layer);
    const BlobCalibration* known = table.Find(blob);
    if (known && known->threshold >= calibration.threshold) return;
    table.SetExactly(blob, calibration);
  });
  RequireBlobs(table);
  return table;
}

CalibrationTable ReadAnyCalibrationTable(const std::string& file, const NetParameter& net) {
  const std::string text = ReadTextFile(file);
  if (text.rfind(kTensorRt, 0) == 0) return ParseTensorRtCache(text, file);
  if (text.rfind(kOurs, 0) == 0) return CalibrationTable::Parse(text, file);
  return ParseNcnnTable(text, file, net);
}

}  // namespace caffe
