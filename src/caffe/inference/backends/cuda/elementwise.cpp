// Elementwise operations: activations, scales and shifts of channels, and Eltwise, in every type
// and layout.
#include <algorithm>

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/passes/affine_map.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

bool IsAffine(const Node& node) { return node.operation().affine || node.type() == "Power"; }

int ChannelsOf(const Shape& shape) { return shape.size() < 2 ? 1 : shape[1]; }

/// Numbers for the channels, with padding if they are last.
std::vector<float> ForChannels(std::vector<float> values, const Value& value) {
  const size_t channels = ChannelsOf(value.shape);
  const bool last = value.layout == kLast;
  values.resize(last ? PadChannels(static_cast<int>(channels), value.type) : channels, 0);
  return values;
}

class ElementwiseStep : public Step {
 public:
  /// A plain blob is a row of elements, without gaps.
  explicit ElementwiseStep(Layout::Kind layout) : layout_(layout) {}
  bool takes_strides() const override { return layout_ == kLast; }
  void Bind(const Binding& binding) override {
    binding_ = binding;
    const Operand& y = binding_.outputs[0];
    for (const Operand& x : binding_.inputs) {
      Require(x.layout == layout_ && y.layout == layout_ && x.shape == y.shape,
              "its blobs differ in layout");
    }
    // The padding depends on the type.
    channels_ = ChannelCount(y);
    for (const Operand& x : binding_.inputs) channels_ = std::min(channels_, ChannelCount(x));
  }

 protected:
  const Operand& y() const { return binding_.outputs[0]; }
  bool empty() const { return CountOf(y().shape) == 0; }

  const Layout::Kind layout_;
  Binding binding_;
  int channels_ = 0;
};

/// An activation; its slopes are parameter 0.
class ActivationStep : public ElementwiseStep {
 public:
  ActivationStep(Layout::Kind layout, const NodePostOps& activation)
      : ElementwiseStep(layout), activation_(activation) {}
  void Run(void*) override {
    if (empty()) return;
    const void* const slopes = activation_.slopes.empty() ? nullptr : binding_.parameters.at(0);
    caffe::cuda::ApplyToPixels(caffe::cuda::CurrentStream(), PixelCount(y()), channels_,
                               PixelsOf(binding_.inputs[0]), nullptr, nullptr, nullptr,
                               ActivationOf(activation_, slopes), PixelsOf(y()));
  }

 private:
  const NodePostOps activation_;
};

/// Parameters 0 and 1 are factors and shifts of channels.
class AffineStep : public ElementwiseStep {
 public:
  using ElementwiseStep::ElementwiseStep;
  void Run(void*) override {
    if (empty()) return;
    caffe::cuda::ApplyToPixels(
        caffe::cuda::CurrentStream(), PixelCount(y()), channels_, PixelsOf(binding_.inputs[0]),
        static_cast<const float*>(binding_.parameters.at(0)),
        static_cast<const float*>(binding_.parameters.at(1)), nullptr, {}, PixelsOf(y()));
  }
};

class CombinationStep : public ElementwiseStep {
 public:
  CombinationStep(Layout::Kind layout, const Node& node)
      : ElementwiseStep(layout),
        operation_(OperationOf(node.layer.eltwise_param())),
        coefficients_(node.layer.eltwise_param().coeff().begin(),
                      node.layer.eltwise_param().coeff().end()) {}

  void Run(void*) override {
    if (empty()) return;
    std::vector<caffe::cuda::Pixels> x;
    for (const Operand& input : binding_.inputs) x.push_back(PixelsOf(input));
    caffe::cuda::CombinePixels(caffe::cuda::CurrentStream(), operation_, PixelCount(y()), channels_,
                               x, coefficients_, {}, PixelsOf(y()));
  }

 private:
  static caffe::cuda::Combination OperationOf(const EltwiseParameter& param) {
    if (param.operation() == EltwiseParameter_EltwiseOp_PROD) {
      return caffe::cuda::Combination::PRODUCT;
    }
    return param.operation() == EltwiseParameter_EltwiseOp_MAX ? caffe::cuda::Combination::MAXIMUM
                                                               : caffe::cuda::Combination::SUM;
  }

  const caffe::cuda::Combination operation_;
  const std::vector<float> coefficients_;
};

bool IsCombination(const Node& node) {
  const size_t inputs = node.inputs.size();
  const int coefficients = node.layer.eltwise_param().coeff_size();
  return node.type() == "Eltwise" && node.outputs.size() == 1 && node.epilogue.empty() &&
         inputs > 0 && inputs <= caffe::cuda::kMaxCombined &&
         (coefficients == 0 || coefficients == static_cast<int>(inputs));
}

constexpr char kWhyNot[] = "is for activations, scales of channels and Eltwise by themselves";

class ElementwiseImpl : public Implementation {
 public:
  const char* name() const override { return "elementwise"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (node.inputs.empty() || node.outputs.size() != 1) return context.None(kWhyNot);
    const Shape& shape = context.graph.values[node.outputs[0]].shape;
    const auto activation = ActivationOfNode(node, ChannelsOf(shape));
    const bool affine = IsAffine(node) && AffineOf(context.graph, node);
    if (!activation && !affine && !IsCombination(node)) return context.None(kWhyNot);
    // Parameters by channel need a layout of pixels.
    const bool by_channel = affine || (activation && !activation->slopes.empty());
    const bool has_channels = shape.size() >= 3;
    std::vector<Candidate> candidates;
    for (const ElementType type : kFloatTypes) {
      if (!context.Stores(type)) continue;
      const Format last = {type, kLast}, plain = {type, kPlain};
      if (has_channels) candidates.push_back(Formats(*this, node, type, last, last));
      if (!by_channel) candidates.push_back(Formats(*this, node, type, plain, plain));
    }
    if (has_channels && shape[1] % ChannelMultiple(ElementType::INT8) == 0) {
      AddIntegers(context, node, &candidates);
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& y = graph.values[node.outputs[0]];
    const auto constant = [&](const std::vector<float>& values) {
      std::vector<float> all = ForChannels(values, y);
      const int count = static_cast<int>(all.size());
      return Constant::Of({count}, std::move(all));
    };
    if (IsAffine(node)) {
      const Affine affine = *AffineOf(graph, node);
      return {constant(affine.scale), constant(affine.shift)};
    }
    const auto activation = ActivationOfNode(node, ChannelsOf(y.shape));
    if (!activation || activation->slopes.empty()) return {};
    return {constant(activation->slopes)};
  }

  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(!node.inputs.empty() && node.outputs.size() == 1, "layer '", node.name(), "' (",
            node.type(), ") has no bottom or top");
    const Value& y = graph.values[node.outputs[0]];
    if (IsCombination(node)) return std::make_unique<CombinationStep>(y.layout, node);
    const size_t channels = ForChannels({}, y).size();
    Require(node.inputs.size() == 1, "layer '", node.name(), "' (", node.type(),
            ") has several bottoms");
    if (IsAffine(node)) {
      for (const size_t i : {0, 1}) RequireParameter(node, i, ElementType::FLOAT, channels);
      return std::make_unique<AffineStep>(y.layout);
    }
    // Slopes are packed: one for each channel, padding included.
    const auto activation = ActivationOfNode(node, static_cast<int>(channels));
    Require(activation.has_value(), "layer '", node.name(), "' (", node.type(),
            ") is not an elementwise operation");
    return std::make_unique<ActivationStep>(y.layout, *activation);
  }

 private:
  /// From what lies in 8 bits, or to it.
  void AddIntegers(const LoweringContext& context, const Node& node,
                   std::vector<Candidate>* candidates) const {
    if (!context.Stores(ElementType::INT8)) return;
    const auto known = [&](int value) { return context.ranges[value].known(); };
    const bool in = std::all_of(node.inputs.begin(), node.inputs.end(), known);
    const bool out = known(node.outputs[0]);
    const Format integers = {ElementType::INT8, kLast}, floats = {ElementType::FLOAT, kLast};
    const auto add = [&](const Format& from, const Format& to) {
      candidates->push_back(Formats(*this, node, ElementType::FLOAT, from, to));
    };
    if (in && out) add(integers, integers);
    if (in) add(integers, floats);
    if (out) add(floats, integers);
  }
};

}  // namespace

const Implementation& Elementwise() {
  static const ElementwiseImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
