// Deconvolutions of each channel by itself (enlarged pictures), in every type: weights, of which
// there are few, lie there as floats, rounded to 16 bits where they are to be halves; sums are
// floats.
#include <algorithm>

#include "../constants.hpp"
#include "../convolution_node.hpp"
#include "../element_types.hpp"
#include "byte_step.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/depthwise_deconvolution.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "convolution_step.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

/// Nothing where channels are summed up, or there are not two spatial axes.
std::optional<kernels::DepthwiseDeconvolutionShape> ShapeOf(const Node& node, const Shape& x,
                                                            const Shape& y) {
  const ConvolutionParameter& param = node.layer.convolution_param();
  if (node.type() != "Deconvolution" || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      x.size() != 4 || y.size() != 4 || (param.axis() != 1 && param.axis() != -3) || x[1] != y[1] ||
      param.group() != static_cast<unsigned>(x[1]) || node.parameters.empty()) {
    return {};
  }
  const ConvolutionGeometry geometry = ReadConvolutionGeometry(param, 2);
  kernels::DepthwiseDeconvolutionShape shape = {x[0], x[1], x[2], x[3], y[2], y[3]};
  for (int i = 0; i < 2; ++i) {
    shape.kernel[i] = geometry.kernel[i];
    shape.stride[i] = geometry.stride[i];
    shape.pad[i] = geometry.pad[i];
    shape.dilation[i] = geometry.dilation[i];
    if (std::min({x[2 + i], y[2 + i], shape.kernel[i], shape.stride[i]}) < 1) return {};
  }
  return shape;
}

using Kernel = kernels::DepthwiseDeconvolution;

/// With what fills up the last block.
size_t InBlocks(size_t channels) {
  const size_t block = ChannelBlock();
  return (channels + block - 1) / block * block;
}

class DeconvolutionStep : public Step {
 public:
  DeconvolutionStep(const Node& node, FusedEpilogue epilogue)
      : node_(node), epilogue_(std::move(epilogue)) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    const auto shape = ShapeOf(node_, x_.shape, y_.shape);
    const bool goes_together =
        IsInteger(x_) ? IsInteger(y_) || y_.type == ElementType::FLOAT : !IsInteger(y_);
    Require(shape && x_.blocked() && y_.blocked() && goes_together,
            "its blobs do not lie as kernels take them");
    RequireParameter(node_, 0, ElementType::FLOAT, Kernel::packed_size(*shape));
    RequireParameter(node_, 1, ElementType::FLOAT, InBlocks(shape->channels));
    kernel_ = std::make_unique<Kernel>(*shape, SizeOf(y_.type) == 2);
  }
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

  void Run(void* scratch) override {
    kernels::DepthwiseDeconvolutionEnd end;
    end.bias = node_.parameters[1].floats();
    end.activation = epilogue_.activation;
    end.function = epilogue_.function();
    end.factor = 1 / y_.scale;
    const auto run = [&](auto from, auto to) {
      kernel_->Run(IsInteger(x_) ? x_.scale : 1, x_.as<const decltype(from)>(),
                   node_.parameters[0].floats(), end, y_.as<decltype(to)>(), scratch);
    };
    if (IsInteger(x_)) {
      DispatchInteger(
          x_.type, [&](auto from) { DispatchWritten(y_.type, [&](auto to) { run(from, to); }); });
    } else {
      DispatchFloats(x_.type, y_.type, run);
    }
  }

 private:
  const Node& node_;
  const FusedEpilogue epilogue_;
  std::unique_ptr<const Kernel> kernel_;
  Operand x_, y_;
};

std::optional<kernels::DepthwiseDeconvolutionShape> ShapeOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !Activates(node)) return {};
  return ShapeOf(node, graph.values[node.inputs[0]].shape, graph.values[node.outputs[0]].shape);
}

class Family : public Implementation {
 public:
  const char* name() const override { return "deconvolution"; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!ShapeOf(context.graph, node)) return {};
    std::vector<Candidate> candidates = InFloats(*this, context, node, kBlocked);
    if (!context.ranges[node.inputs[0]].known() || !context.Stores(ElementType::INT8)) {
      return candidates;
    }
    for (const ElementType type : {ElementType::INT8, ElementType::FLOAT}) {
      if (type == ElementType::INT8 && !context.ranges[node.outputs[0]].known()) continue;
      candidates.push_back(
          Formats(*this, node, ElementType::INT8, {ElementType::INT8, kBlocked}, {type, kBlocked}));
    }
    return candidates;
  }

  // As the kernel reads them, and the bias, the last block filled up with zeros.
  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const auto shape = ShapeOf(graph, node);
    const bool in_bytes = node.math == ElementType::INT8;
    const std::vector<float> weights =
        RoundedTo(in_bytes ? ElementType::FLOAT : node.math, node.parameters[0]);
    std::vector<float> bias = BiasOf(node, shape->channels);
    bias.resize(InBlocks(shape->channels), 0.f);
    const Constant packed = NewConstant(ElementType::FLOAT, Kernel::packed_size(*shape));
    Kernel::PackWeights(*shape, weights.data(), Elements<float>(packed));
    const int sums = static_cast<int>(bias.size());
    return {packed, Constant::Of({sums}, std::move(bias))};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    auto epilogue = FusedEpilogueOf(node);
    Require(node.type() == "Deconvolution" && epilogue && epilogue->residual < 0, "layer '",
            node.name(), "' (", node.type(), ") is no Deconvolution with an activation");
    return std::make_unique<DeconvolutionStep>(node, std::move(*epilogue));
  }
};

}  // namespace

const Implementation& Deconvolution() {
  static const Family family;
  return family;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
