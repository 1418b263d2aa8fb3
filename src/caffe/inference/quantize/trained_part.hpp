#ifndef CAFFE_INFERENCE_QUANTIZE_TRAINED_PART_HPP_
#define CAFFE_INFERENCE_QUANTIZE_TRAINED_PART_HPP_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "training_positions.hpp"

namespace caffe::inference {

/// The part of a net with quantized training that an integer-only engine computes: from its input
/// blobs to the last rounded ones, from which losses and scores are computed.
struct TrainedPart {
  NetParameter net;                          ///< without weights; its Input layers have no shapes
  std::vector<std::string> inputs, outputs;  ///< blobs, by the names that the net gives them
};

/// `net` is that of PositionsOf, with its positions. Not set if the part has no outputs, or reads
/// an input blob that is not rounded, or one that engines call otherwise, as the log then says.
std::optional<TrainedPart> TrainedPartOf(const NetParameter& net,
                                         const TrainingPositions& positions);

/// The engine, with the weights and ranges of these layers (FakeQuantization layers included, with
/// their blobs), for inputs of these shapes: what `caffe build -precision int8` makes of them, with
/// kernels that were not timed. Throws Error as Builder::Build does.
std::shared_ptr<const Engine> BuildTrained(const TrainedPart& part, const NetParameter& weights,
                                           const std::map<std::string, Shape>& inputs);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_TRAINED_PART_HPP_
