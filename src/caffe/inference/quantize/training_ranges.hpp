#ifndef CAFFE_INFERENCE_QUANTIZE_TRAINING_RANGES_HPP_
#define CAFFE_INFERENCE_QUANTIZE_TRAINING_RANGES_HPP_

#include <map>
#include <optional>
#include <string>

#include "caffe/inference/quantization.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe::inference {

/// The ranges of blobs that a net was trained with, and what for.
struct TrainedRanges {
  struct Range {
    double minimum = 0, maximum = 0;  ///< 0 lies between them; not both are 0
  };
  TrainedNumbers numbers;
  /// By the name that graphs give the blob in the end: the net's blob, "<blob>_before_<layer>"
  /// before a layer that works on it in place and is an operation of its own. Those of one group
  /// have one range.
  std::map<std::string, Range> blobs;
};

/// What the schema calls so.
QuantizationScheme SchemeOf(QuantizedTrainingParameter::Scheme scheme);

/// Reads the FakeQuantization layers of a caffemodel. Not set if it has none. Throws Error, naming
/// the layer, where they were trained for different schemes or bits, or a range is none; and if no
/// blob has been observed yet.
std::optional<TrainedRanges> ReadTrainedRanges(const NetParameter& weights);
/// The same for a .caffemodel file; not set for other files.
std::optional<TrainedRanges> ReadTrainedRanges(const std::string& file);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_TRAINING_RANGES_HPP_
