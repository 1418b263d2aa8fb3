#include "caffe/inference/calibration_report.hpp"

#include <cmath>
#include <cstdio>

#include "caffe/util/text_table.hpp"

namespace caffe {
namespace {

std::string Decibels(double signal, double noise) {
  if (noise <= 0) return "exact";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f dB", 10 * std::log10(signal / noise));
  return text;
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
    rows.push_back(
        {blob, seen->layer, TypeName(calibration), ThreeDigits(histogram.minimum()),
         ThreeDigits(histogram.maximum()), ThreeDigits(calibration.threshold),
         PercentText(SaturatedShare(histogram, calibration.threshold)),
         Decibels(MeanSquare(histogram),
                  QuantizationError(histogram, calibration.threshold, calibration.steps()))});
  }
  return rows;
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

void PrintCalibration(const CalibrationTable& table, const ActivationStatistics* statistics,
                      std::ostream& out) {
  const Rows rows = CalibrationRows(table, statistics);
  TextTable lines(rows[0], statistics ? kWords : kWords - 1);
  for (size_t i = 1; i < rows.size(); ++i) lines.Add(rows[i]);
  lines.Print(out);
}

}  // namespace caffe
