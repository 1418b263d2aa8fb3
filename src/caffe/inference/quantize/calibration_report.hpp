#ifndef CAFFE_INFERENCE_CALIBRATION_REPORT_HPP_
#define CAFFE_INFERENCE_CALIBRATION_REPORT_HPP_

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/quantize/activation_statistics.hpp"

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

/// A blob with a large quantization error.
struct NoisyBlob {
  std::string blob, layer;           ///< the layer writes it last
  std::vector<std::string> readers;  ///< layers with weights that multiply it in INT8
  double signal_to_noise = 0;        ///< decibels
};

/// Below this, in decibels, a blob's quantization error is more than a tenth of its values.
constexpr double kLowSignalToNoise = 20;

/// The table's blobs with a signal-to-noise ratio below it that layers with weights read, directly
/// or moved, pooled or activated: the worst first. `float_layers` do not compute in INT8.
std::vector<NoisyBlob> NoisyBlobs(const CalibrationTable& table,
                                  const ActivationStatistics& statistics,
                                  const std::set<std::string>& float_layers = {});
/// Lines that name the worst of them and a remedy; "" if there are none.
std::string NoiseReport(const CalibrationTable& table, const ActivationStatistics& statistics,
                        const std::set<std::string>& float_layers = {});

/// An SVG image: for each blob of the table the histogram of its magnitudes, counts on a
/// logarithmic axis, with the threshold, and what saturates in another colour.
std::string HistogramsAsSvg(const CalibrationTable& table, const ActivationStatistics& statistics,
                            const std::string& title);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_CALIBRATION_REPORT_HPP_
