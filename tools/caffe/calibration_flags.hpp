#ifndef CAFFE_TOOLS_CAFFE_CALIBRATION_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_CALIBRATION_FLAGS_HPP_

#include <memory>
#include <ostream>
#include <set>
#include <string>

#include "../common/command.hpp"
#include "caffe/inference/quantize/calibration_data.hpp"
#include "caffe/inference/quantize/calibration_report.hpp"

// The flags that choose how commands calibrate.

DECLARE_string(calibration_table);
DECLARE_int32(batches);

namespace caffe {

/// Batches of data that calibration, and what measures accuracy, run at most where -batches does
/// not say.
constexpr int kDefaultBatches = 50;

/// How thresholds are chosen, and on how much.
FlagGroup CalibrationFlags();

/// Runs a net with its weights, `param`'s, on what the flags say, and chooses thresholds. Prints
/// them on `out`, how they were chosen, and which blobs are noisy in INT8 though a layer reads them
/// that is none of `float_layers`. `keep`, if given, gets what was seen of the net.
CalibrationTable CalibrateByFlags(Net<float>* net, const NetParameter& param, std::ostream& out,
                                  const std::set<std::string>& float_layers = {},
                                  std::unique_ptr<CalibrationData>* keep = nullptr);

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_CALIBRATION_FLAGS_HPP_
