#ifndef CAFFE_INFERENCE_GRAPH_NODE_FACTS_HPP_
#define CAFFE_INFERENCE_GRAPH_NODE_FACTS_HPP_

#include <cstddef>
#include <vector>

#include "caffe/inference/graph.hpp"

// What passes and backends ask of a node's layer.
namespace caffe::inference {

/// True if an `axis` as layers give it, also from the last one on, is that of the channels of a
/// blob of so many axes.
inline bool IsChannelAxis(int axis, size_t axes) {
  return axis == 1 || (axis < 0 && axis + static_cast<int>(axes) == 1);
}

/// The axis of a Concat or Slice, as the layer gives it.
int JoinedAxis(const LayerParameter& layer);

/// True for a Concat or Slice along the channels.
bool JoinsChannels(const Graph& graph, const Node& node);

/// True for an Eltwise that adds, with whatever coefficients.
bool IsSum(const LayerParameter& layer);

/// True for a Pooling whose only output are maxima.
bool IsMaxPooling(const Node& node);

/// True if its outputs are elements of its ReadInputs, in whatever order: Concat, Slice, Reshape,
/// Upsample without a mask and the like.
bool MovesElements(const Node& node);
/// True if, moreover, all elements of its ReadInputs are in its outputs: not after cropping.
bool KeepsElements(const Node& node);

/// Per value: it holds labels, indices or coordinates that are moved at most between where they
/// arise (an input of the graph, a top that is the net's Dtype always) and where they are read as
/// such, or the graph's outputs. 16 bits do not hold them.
std::vector<bool> ExactValues(const Graph& graph);

/// True for an input of which only the shape is read, as the second one of a Crop.
bool ReadsShapeOnly(const Node& node, size_t input);

/// The inputs of which more than the shape is read: of a node that moves elements, those whose
/// elements become its outputs'.
std::vector<int> ReadInputs(const Node& node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_NODE_FACTS_HPP_
