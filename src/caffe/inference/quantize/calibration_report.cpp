#include "caffe/inference/quantize/calibration_report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/inference/graph/test_identity.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe {
namespace {

/// In decibels; infinity for no noise.
double SignalToNoise(const Histogram& histogram, const BlobCalibration& calibration) {
  const double noise = QuantizationError(histogram, calibration.threshold, calibration.steps());
  if (noise <= 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(MeanSquare(histogram) / noise);
}

std::string Decibels(double value) {
  return std::isinf(value) ? "exact" : Formatted("%.1f dB", value);
}

std::string TypeName(const BlobCalibration& calibration) {
  return calibration.is_unsigned ? "u8" : "s8";
}

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kWords = 3;  // columns that are aligned to the left

Rows SeenRows(const CalibrationTable& table, const ActivationStatistics& statistics) {
  Rows rows = {{"blob", "layer", "type", "min", "max", "threshold", "saturated", "signal/noise"}};
  for (const std::string& blob : table.blobs()) {
    const BlobCalibration& calibration = table.At(blob);
    const BlobStatistics* seen = statistics.Find(blob);
    if (!seen) continue;
    const Histogram& histogram = seen->histogram;
    rows.push_back({blob, seen->layer, TypeName(calibration), ThreeDigits(histogram.minimum()),
                    ThreeDigits(histogram.maximum()), ThreeDigits(calibration.threshold),
                    PercentText(SaturatedShare(histogram, calibration.threshold)),
                    Decibels(SignalToNoise(histogram, calibration))});
  }
  return rows;
}

/// Layers with weights that read value `v`, or what layers without weights make of it in integers.
void AddReaders(const Net<float>& net, const ValueGraph& graph, int v,
                const std::set<std::string>& float_layers, std::vector<std::string>* names) {
  for (const auto& [reader, bottom] : graph.values[v].readers) {
    const LayerParameter& layer = net.layers()[graph.layers[reader].net_index]->layer_param();
    const Operation* operation = OperationTable::Find(layer.type());
    if (float_layers.count(layer.name()) > 0) continue;
    if (HasWeightScales(layer.type())) {
      const bool known = std::count(names->begin(), names->end(), layer.name()) > 0;
      if (bottom == 0 && !known) names->push_back(layer.name());
    } else if (operation && (operation->quantizable || operation->type_agnostic ||
                             inference::IsTestIdentity(layer))) {
      for (const int top : graph.layers[reader].tops)
        AddReaders(net, graph, top, float_layers, names);
    }
  }
}

}  // namespace

Rows CalibrationRows(const CalibrationTable& table, const ActivationStatistics* statistics) {
  if (statistics) return SeenRows(table, *statistics);
  Rows rows = {{"blob", "type", "threshold", "scale"}};
  for (const std::string& blob : table.blobs()) {
    const BlobCalibration& calibration = table.At(blob);
    rows.push_back({blob, TypeName(calibration), ThreeDigits(calibration.threshold),
                    ThreeDigits(calibration.scale())});
  }
  return rows;
}

std::vector<NoisyBlob> NoisyBlobs(const CalibrationTable& table,
                                  const ActivationStatistics& statistics,
                                  const std::set<std::string>& float_layers) {
  const Net<float>& net = statistics.net();
  const ValueGraph graph(net);
  std::vector<NoisyBlob> noisy;
  for (int v = 0; v < static_cast<int>(graph.values.size()); ++v) {
    const std::string& blob = graph.values[v].name;
    const BlobCalibration* calibration = table.Find(blob);
    const BlobStatistics* seen = statistics.Find(blob);
    if (!calibration || !seen) continue;
    const double decibels = SignalToNoise(seen->histogram, *calibration);
    if (decibels >= kLowSignalToNoise) continue;
    noisy.push_back({blob, seen->layer, {}, decibels});
    AddReaders(net, graph, v, float_layers, &noisy.back().readers);
    if (noisy.back().readers.empty()) noisy.pop_back();
  }
  std::stable_sort(noisy.begin(), noisy.end(), [](const NoisyBlob& a, const NoisyBlob& b) {
    return a.signal_to_noise < b.signal_to_noise;
  });
  return noisy;
}

std::string NoiseReport(const CalibrationTable& table, const ActivationStatistics& statistics,
                        const std::set<std::string>& float_layers) {
  constexpr size_t kShown = 5, kReadersShown = 3;
  const std::vector<NoisyBlob> noisy = NoisyBlobs(table, statistics, float_layers);
  if (noisy.empty()) return "";
  std::string text = Join(noisy.size(), noisy.size() == 1 ? " blob is" : " blobs are", " below ",
                          kLowSignalToNoise, " dB in INT8, more than a tenth off:\n");
  for (size_t i = 0; i < std::min(noisy.size(), kShown); ++i) {
    text += Join("  '", noisy[i].blob, "' of layer '", noisy[i].layer, "', read by ",
                 ListedQuoted(noisy[i].readers, kReadersShown), ": ",
                 Decibels(noisy[i].signal_to_noise), "\n");
  }
  if (noisy.size() > kShown) text += Join("  and ", noisy.size() - kShown, " more\n");
  return text + Join("Remedies: more images; readers in floats, as by -layer_precision ",
                     noisy[0].readers[0],
                     "=fp32; caffe compare -precision int8 -bisect finds the layers that matter\n");
}

void PrintCalibration(const CalibrationTable& table, const ActivationStatistics* statistics,
                      std::ostream& out) {
  const Rows rows = CalibrationRows(table, statistics);
  TextTable lines(rows[0], statistics ? kWords : kWords - 1);
  for (size_t i = 1; i < rows.size(); ++i) lines.Add(rows[i]);
  lines.Print(out);
}

}  // namespace caffe
