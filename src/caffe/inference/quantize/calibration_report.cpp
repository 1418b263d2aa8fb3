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

void PrintSeen(const CalibrationTable& table, const ActivationStatistics& statistics,
               std::ostream& out) {
  TextTable rows({"blob", "layer", "type", "min", "max", "threshold", "saturated", "signal/noise"},
                 3);
  for (const std::string& blob : table.blobs()) {
    const BlobCalibration& calibration = table.At(blob);
    const BlobStatistics* seen = statistics.Find(blob);
    if (!seen) continue;
    const Histogram& histogram = seen->histogram;
    rows.Add({blob, seen->layer, TypeName(calibration), ThreeDigits(histogram.minimum()),
              ThreeDigits(histogram.maximum()), ThreeDigits(calibration.threshold),
              PercentText(SaturatedShare(histogram, calibration.threshold)),
              Decibels(MeanSquare(histogram),
                       QuantizationError(histogram, calibration.threshold, calibration.steps()))});
  }
  rows.Print(out);
}

}  // namespace

void PrintCalibration(const CalibrationTable& table, const ActivationStatistics* statistics,
                      std::ostream& out) {
  if (statistics) return PrintSeen(table, *statistics, out);
  TextTable rows({"blob", "type", "threshold", "scale"}, 2);
  for (const std::string& blob : table.blobs()) {
    const BlobCalibration& calibration = table.At(blob);
    rows.Add({blob, TypeName(calibration), ThreeDigits(calibration.threshold),
              ThreeDigits(calibration.scale())});
  }
  rows.Print(out);
}

}  // namespace caffe
