#include "caffe/inference/quantize/calibration_formats.hpp"
#include "caffe/core/error_context.hpp"

#include <cmath>
#include <cstring>
#include <functional>

#include "caffe/inference/quantize/thresholds.hpp"
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
  std::map<std::string, std::string> bottoms;  // by layer
  std::vector<std::string> layers;
  for (const LayerParameter& layer : net.layer()) {
    if (layer.bottom_size() == 0) continue;
    bottoms[layer.name()] = layer.bottom(0);
    layers.push_back(layer.name());
  }
  CalibrationTable table;
  table.set_name(name);
  ForEachLine(text, name, [&](const std::string& line, int) {
    StringReader words(line);
    std::string key;
    if (!(words >> key)) return;
    std::vector<double> factors;
    for (std::string word; words >> word;) {
      factors.push_back(ParsedNumber<double>(word, "the scale"));
      Require(factors.back() > 0 && std::isfinite(factors.back()), "the scale ", word,
              " is not a number above 0");
    }
    Require(!factors.empty(), "no scale behind '", key, "'");
    const std::string suffix = "_param_0";
    const size_t stem = key.size() > suffix.size() ? key.size() - suffix.size() : 0;
    const auto layer = bottoms.find(key);
    if (layer == bottoms.end() && stem > 0 && key.compare(stem, suffix.size(), suffix) == 0) {
      const std::string owner = key.substr(0, stem);
      if (bottoms.count(owner) == 0) FailForLayer(owner, layers);
      std::vector<float> scales;
      for (double factor : factors) scales.push_back(static_cast<float>(1 / factor));
      table.SetWeightScales(owner, std::move(scales));
      return;
    }
    if (layer == bottoms.end()) FailForLayer(key, layers);
    Require(factors.size() == 1, "layer '", key, "': one scale is expected for its bottom, not ",
            factors.size());
    BlobCalibration calibration;
    calibration.threshold = kInt8Steps / factors[0];
    const BlobCalibration* known = table.Find(layer->second);
    if (known && known->threshold >= calibration.threshold) return;
    table.SetExactly(layer->second, calibration);
  });
  return table;
}

CalibrationTable ReadAnyCalibrationTable(const std::string& file, const NetParameter& net) {
  const std::string text = ReadTextFile(file);
  if (text.rfind(kTensorRt, 0) == 0) return ParseTensorRtCache(text, file);
  if (text.rfind(kOurs, 0) == 0) return CalibrationTable::Parse(text, file);
  return ParseNcnnTable(text, file, net);
}

}  // namespace caffe
