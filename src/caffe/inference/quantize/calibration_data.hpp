#ifndef CAFFE_INFERENCE_QUANTIZE_CALIBRATION_DATA_HPP_
#define CAFFE_INFERENCE_QUANTIZE_CALIBRATION_DATA_HPP_

#include <memory>

#include "caffe/inference/calibrator.hpp"
#include "caffe/inference/quantize/activation_statistics.hpp"

namespace caffe {

namespace inference {
class ImageSample;
}

/// The parts of Calibrate, for programs that want several tables from one run.
/// CollectCalibrationData runs the net; MakeCalibrationTable chooses thresholds.
struct CalibrationData {
  explicit CalibrationData(Net<float>* net) : statistics(net) {}
  ActivationStatistics statistics;
  int64_t images = 0;
  /// What candidates are compared on; a null pointer for calibrators without.
  std::shared_ptr<const inference::ImageSample> sample;
};
CalibrationData CollectCalibrationData(Net<float>* net, Calibrator* calibrator,
                                       const CalibrationOptions& options = CalibrationOptions());
CalibrationTable MakeCalibrationTable(const CalibrationData& data, const Calibrator& calibrator,
                                      const CalibrationOptions& options = CalibrationOptions());

}  // namespace caffe

#endif  // CAFFE_INFERENCE_QUANTIZE_CALIBRATION_DATA_HPP_
