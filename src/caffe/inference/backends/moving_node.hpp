#ifndef CAFFE_INFERENCE_BACKENDS_MOVING_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_MOVING_NODE_HPP_

#include "implementation.hpp"

namespace caffe {
namespace inference {

// Nodes that move elements of any type and change none.

/// A Concat or Slice along axis 1.
bool JoinsChannels(const Graph& graph, const Node& node);
/// A Flatten or Reshape of one value.
bool Reshapes(const Node& node);
/// True if the integers of all its values stand for the same numbers.
bool HaveOneRange(const LoweringContext& context, const Node& node);

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_MOVING_NODE_HPP_
