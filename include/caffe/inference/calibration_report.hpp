#ifndef CAFFE_INFERENCE_CALIBRATION_REPORT_HPP_
#define CAFFE_INFERENCE_CALIBRATION_REPORT_HPP_

#include <ostream>
#include <string>
#include <vector>

#include "caffe/inference/activation_statistics.hpp"
#include "caffe/inference/calibration_table.hpp"

namespace caffe {

/// Headings, then a row for each blob of the table: its layer, type, range, threshold, the share of
/// values that saturate, and the signal-to-noise ratio of its quantized values in decibels.
/// `statistics` may be a null pointer (for a table from elsewhere); then only what the table knows
/// is said.
std::vector<std::vector<std::string>> CalibrationRows(const CalibrationTable& table,
                                                      const ActivationStatistics* statistics);

/// The same as lines of text.
void PrintCalibration(const CalibrationTable& table, const ActivationStatistics* statistics,
                      std::ostream& out);

/// A picture (SVG): for each blob of the table the histogram of its magnitudes, counts on a
/// logarithmic axis, with the threshold drawn and what saturates in another colour.
std::string HistogramsAsSvg(const CalibrationTable& table, const ActivationStatistics& statistics,
                            const std::string& title);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_CALIBRATION_REPORT_HPP_
