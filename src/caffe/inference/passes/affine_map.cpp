#include "affine_map.hpp"

#include "caffe/core/pointwise.hpp"
#include "caffe/inference/graph/node_layer.hpp"

namespace caffe::inference {

std::optional<Affine> AffineOf(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || !node.epilogue.empty()) return {};
  const Shape& shape = graph.values[node.inputs[0]].shape;
  // An empty blob may have more channels than memory holds.
  if (shape.size() < 2 || CountOf(shape) == 0) return {};
  const int channels = shape[1];
  Affine affine{std::vector<float>(channels, 1), std::vector<float>(channels, 0)};
  if (node.type() == "Power") {
    const PowerParameter& param = node.layer.power_param();
    if (param.power() != 1) return {};
    std::fill(affine.scale.begin(), affine.scale.end(), param.scale());
    std::fill(affine.shift.begin(), affine.shift.end(), param.shift());
    return affine;
  }
  if (node.type() == "Bias") {
    if (node.layer.bias_param().axis() != 1 || node.parameters[0].shape != Shape{channels}) {
      return {};
    }
    affine.shift = node.parameters[0].ToVector();
    return affine;
  }
  if (node.type() != "BatchNorm" && node.type() != "Scale") return {};
  NodeLayer layer = MainLayer(node);
  layer.Reshape({shape});
  Pointwise pointwise;
  if (!layer.layer().DescribePointwise(&pointwise)) return {};
  if (!pointwise.scale.empty()) affine.scale = pointwise.scale;
  if (!pointwise.shift.empty()) affine.shift = pointwise.shift;
  return affine;
}

}  // namespace caffe::inference
