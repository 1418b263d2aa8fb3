#include "moved_elements.hpp"

#include <utility>

#include "caffe/error.hpp"
#include "caffe/inference/graph/node_layer.hpp"
#include "caffe/layers/interp_layer.hpp"
#include "caffe/layers/resample_layer.hpp"
#include "integer_node.hpp"

namespace caffe::inference {
namespace {

/// The parameters of a resizing layer.
template <typename Layer>
struct OpenLayer : Layer {
  using Layer::Layer;
  Resizing Of(const std::vector<Shape>& bottoms) const { return this->ResizingOf(bottoms); }
};

}  // namespace

std::vector<std::vector<int64_t>> MovedFrom(const Node& node, const std::vector<Shape>& inputs,
                                            const std::vector<Shape>& outputs) {
  constexpr int kLowBits = 20;
  NodeLayer layer = MainLayer(node);
  Require(layer.Reshape(inputs) == outputs, "its tops have other shapes");
  std::vector<std::vector<int64_t>> from;
  for (const Shape& shape : outputs) from.emplace_back(CountOf(shape), 0);
  for (const bool high : {false, true}) {
    std::vector<std::vector<float>> x, y;
    std::vector<const float*> bottoms;
    std::vector<float*> tops;
    int64_t number = 0;
    for (const Shape& shape : inputs) {
      std::vector<float>& numbers = x.emplace_back(CountOf(shape));
      for (float& value : numbers) {
        ++number;
        value = static_cast<float>(high ? number >> kLowBits : number & ((1 << kLowBits) - 1));
      }
    }
    for (const Shape& shape : outputs) y.emplace_back(CountOf(shape));
    for (const auto& values : x) bottoms.push_back(values.data());
    for (auto& values : y) tops.push_back(values.data());
    layer.Run(bottoms, tops);
    for (size_t t = 0; t < y.size(); ++t) {
      for (size_t i = 0; i < y[t].size(); ++i) {
        const int64_t part = static_cast<int64_t>(y[t][i]);
        from[t][i] += high ? part << kLowBits : part;
      }
    }
  }
  return from;
}

Resizing ResizingOf(const Node& node, const std::vector<Shape>& inputs) {
  return node.type() == "Interp" ? OpenLayer<InterpLayer<float>>(node.layer).Of(inputs)
                                 : OpenLayer<ResampleLayer<float>>(node.layer).Of(inputs);
}

void MovedBytesStep::Bind(const Binding& binding) {
  binding_ = binding;
  std::vector<Shape> inputs, outputs;
  for (const Operand& x : binding_.inputs) inputs.push_back(x.shape);
  for (const Operand& y : binding_.outputs) {
    const Operand& x = binding_.inputs[0];
    Require(IsInteger(x) && x.type == y.type && x.zero_point == y.zero_point &&
                x.layout == Layout::PLAIN && y.layout == Layout::PLAIN,
            "its blobs are in a layout that the kernel does not take");
    outputs.push_back(y.shape);
  }
  if (inputs == inputs_ && outputs == outputs_) return;
  inputs_.clear();  // a step that is half prepared is for no shapes
  Prepare(inputs, MovedFrom(node_, inputs, outputs));
  outputs_ = std::move(outputs);
  inputs_ = std::move(inputs);
}

}  // namespace caffe::inference
