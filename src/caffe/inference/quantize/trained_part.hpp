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

/// The part of a net with quantized training that an engine of integers computes: from the blobs
/// that feed it to the last ones that are rounded, on which losses and scores are computed.
struct TrainedPart {
  NetParameter net;                          ///< without weights; its Input layers have no shapes
  std::vector<std::string> inputs, outputs;  ///< blobs, by the names that the net gives them
};

/// `net` is that of PositionsOf, with its positions. Nothing where the part reads a blob that feeds
/// the net without being rounded, or has no outputs.
std::optional<TrainedPart> TrainedPartOf(const NetParameter& net,
                                         const TrainingPositions& positions);

/// The engine, with the weights and ranges of these layers (FakeQuantization layers included, with
/// their blobs), for inputs of these shapes: what `caffe build -precision int8` makes of them, with
/// kernels that were not timed. Throws Error as Builder::Build does.
std::shared_ptr<const Engine> BuildTrained(const TrainedPart& part, const NetParameter& weights,
                                           const std::map<std::string, Shape>& inputs);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_TRAINED_PART_HPP_
