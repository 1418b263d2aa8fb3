#include "top_shapes.hpp"

#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/weighted_node.hpp"

namespace caffe::inference {
namespace {

/// Elements that one row of an inner product, or one position of a convolution, has.
size_t InputsOfARow(const Node& node, const Shape& shape) {
  if (shape.size() < 2) return CountOf(shape);
  const bool is_product = node.type() == "InnerProduct";
  const int axis =
      is_product ? node.layer.inner_product_param().axis() : node.layer.convolution_param().axis();
  const size_t first = axis < 0 ? shape.size() + axis : axis;
  return is_product ? CountOf(Shape(shape.begin() + first, shape.end())) : shape.at(first);
}

}  // namespace

std::vector<Shape> TopShapesOf(const Graph& graph, const Node& node,
                               const std::vector<Shape>& inputs) {
  if (node.type() == kReorder) return inputs;
  return WithLayer(node, [&] {
    Require(!node.inputs.empty(), "it has no bottom");
    const Shape& built = graph.values[node.inputs[0]].shape;
    Require(inputs[0].size() == built.size(), "a bottom of shape ", ShapeString(inputs[0]),
            " where the engine was built for ", ShapeString(built));
    LayerParameter layer = node.layer;
    layer.clear_bottom();
    layer.clear_top();
    for (size_t i = 0; i < node.inputs.size(); ++i) layer.add_bottom("bottom");
    for (size_t i = 0; i < node.outputs.size(); ++i) layer.add_top("top");
    const Operation& operation = node.operation();
    Require(bool(operation.top_shapes), "its shapes are known to its layer only");
    const std::vector<Shape> tops =
        IsJoined(node) ? std::vector<Shape>{JoinedShapes(JoinedLayers(node), inputs[0]).back()}
                       : operation.top_shapes(layer, inputs);
    Require(tops.size() == node.outputs.size(), "it has ", tops.size(), " tops, not ",
            node.outputs.size());
    if (MultipliesWeights(node)) {
      Require(InputsOfARow(node, inputs[0]) == InputsOfARow(node, built), "a bottom of shape ",
              ShapeString(inputs[0]), " does not go with weights for ", ShapeString(built));
    }
    return tops;
  });
}

}  // namespace caffe::inference
