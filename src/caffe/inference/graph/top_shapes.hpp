#ifndef CAFFE_INFERENCE_GRAPH_TOP_SHAPES_HPP_
#define CAFFE_INFERENCE_GRAPH_TOP_SHAPES_HPP_

#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// The shapes of a node's outputs for inputs of these shapes, by the operation table: for nodes
/// that do not run by their layer. Throws Error, naming the layer, if it cannot take them or its
/// weights are for other channels.
std::vector<Shape> TopShapesOf(const Graph& graph, const Node& node,
                               const std::vector<Shape>& inputs);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_TOP_SHAPES_HPP_
