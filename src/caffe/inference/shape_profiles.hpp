#ifndef CAFFE_INFERENCE_SHAPE_PROFILES_HPP_
#define CAFFE_INFERENCE_SHAPE_PROFILES_HPP_

#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/inference/shape_profile.hpp"

namespace caffe::inference {

/// Shapes of the graph's inputs, in their order: "data 1x3x300x300, info 1x3"
std::string ShapesAsText(const Graph& graph, const std::vector<Shape>& inputs);

/// The index of the graph's input of this name; "" is the only one. Throws Error, listing the
/// inputs, with `what` in front.
size_t InputNamed(const Graph& graph, const std::string& name, const std::string& what);

/// A net's graph with the range of a profile; its values have the largest shapes. Throws Error with
/// the input whose shapes are not in order, or with the layer that cannot be run in the smallest,
/// tuned or largest shapes.
Graph WithProfile(const Graph& graph, const ShapeProfile& profile);

/// The range of a graph, all inputs named.
ShapeProfile ProfileOf(const Graph& graph);

/// True if these shapes of the inputs, in their order, lie in the graph's range.
bool IsInRange(const Graph& graph, const std::vector<Shape>& inputs);

/// "data 1x3x224x224 to 4x3x512x512"
std::string RangeAsText(const Graph& graph);

/// Merges constants of the same bytes: weights that several graphs have packed alike.
void ShareConstants(std::vector<Graph>* graphs);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_SHAPE_PROFILES_HPP_
