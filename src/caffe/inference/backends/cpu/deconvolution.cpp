// Deconvolutions of each channel by itself (enlarged images), in every type: weights, of which
// there are few, lie there as floats, rounded to 16 bits where they are to be halves; sums are
// floats. Nodes with `integers` have whole numbers there, whose sums floats hold exactly; with
// bytes as weights they are Deconvolutions across channels, too.
#include <algorithm>
#include <memory>

#include "byte_step.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/depthwise_deconvolution.hpp"
#include "caffe/kernels/int8_deconvolution.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "convolution_step.hpp"
#include "integer_rescaling.hpp"

namespace caffe::inference::cpu {
namespace {

/// Nothing where channels are summed up, or there are not two spatial axes.
std::optional<kernels::DepthwiseDeconvolutionShape> ShapeOf(const Node& node, const Shape& x,
                                                            const Shape& y) {
  const ConvolutionParameter& param = node.layer.convolution_param();
  if (node.type() != "Deconvolution" || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      x.size() != 4 || y.size() != 4 || !IsChannelAxis(param.axis(), 4) || x[1] != y[1] ||
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

using DeconvolutionKernel = kernels::DepthwiseDeconvolution;

class DeconvolutionStep : public Step {
 public:
  DeconvolutionStep(const Node& node, NodePostOps epilogue)
      : node_(node), post_ops_(std::move(epilogue)) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    const auto shape = ShapeOf(node_, x_.shape, y_.shape);
    const bool goes_together =
        IsInteger(x_) ? IsInteger(y_) || y_.type == ElementType::FLOAT : !IsInteger(y_);
    Require(shape && x_.blocked() && y_.blocked() && goes_together,
            "its blobs do not lie as kernels take them");
    RequireParameter(node_, 0, ElementType::FLOAT, DeconvolutionKernel::packed_size(*shape));
    kernel_ = std::make_unique<DeconvolutionKernel>(*shape, SizeOf(y_.type) == 2);
    if (node_.integers) {
      Require(IsInteger(x_) && IsInteger(y_), "its blobs are no bytes");
      rescaling_ = RescalingOf(node_, shape->channels, x_, y_);
      rows_ = kernel_->Prepare(rescaling_, y_.type);
    } else {
      RequireParameter(node_, 1, ElementType::FLOAT,
                       kernels::RoundUp(shape->channels, ChannelBlock()));
    }
  }
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

  void Run(void* scratch) override {
    if (node_.integers) return RunIntegers(scratch);
    kernels::PostOps post;
    post.bias = node_.parameters[1].floats();
    post.activation = post_ops_.activation();
    post.factor = 1 / y_.scale;
    const auto run = [&](auto from, auto to) {
      kernel_->Run(IsInteger(x_) ? x_.scale : 1, x_.as<const decltype(from)>(),
                   node_.parameters[0].floats(), post, y_.as<decltype(to)>(), scratch);
    };
    if (IsInteger(x_)) {
      DispatchInteger(x_.type, [&](auto from) {
        DispatchOutputType(y_.type, [&](auto to) { run(from, to); });
      });
    } else {
      DispatchFloats(x_.type, y_.type, run);
    }
  }

 private:
  void RunIntegers(void* scratch) {
    DispatchInteger(x_.type, [&](auto from) {
      DispatchInteger(y_.type, [&](auto to) {
        kernel_->Run(x_.as<const decltype(from)>(), node_.parameters[0].floats(),
                     rescaling_.input_zero_point, *rows_, y_.as<decltype(to)>(), scratch);
      });
    });
  }

  const Node& node_;
  const NodePostOps post_ops_;
  std::unique_ptr<const DeconvolutionKernel> kernel_;
  kernels::Rescaling rescaling_;
  std::shared_ptr<const kernels::RescalingRows> rows_;
  Operand x_, y_;
};

/// Of a node with `integers` and weights of bytes without a zero point.
class DenseStep : public Step {
 public:
  explicit DenseStep(const Node& node) : node_(node) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    kernel_ = KernelOf(node_, x_.shape, y_.shape);
    Require(kernel_ && IsInteger(x_) && IsInteger(y_) && x_.blocked() && y_.blocked(),
            "its blobs do not lie as kernels take them");
    RequireParameter(node_, 0, ElementType::INT8, kernel_->packed_size());
    rescaling_ = RescalingOf(node_, y_.shape[1], x_, y_, kernel_->phases());
    rows_ = kernel_->Prepare(rescaling_, y_.type);
  }
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(x_.shape[0]); }

  void Run(void* scratch) override {
    DispatchInteger(x_.type, [&](auto from) {
      DispatchInteger(y_.type, [&](auto to) {
        kernel_->Forward(x_.shape[0], x_.as<const decltype(from)>(),
                         static_cast<const int8_t*>(node_.parameters[0].data.get()), rescaling_,
                         scratch, y_.as<decltype(to)>(), rows_);
      });
    });
  }

  /// Null where there is none.
  static std::shared_ptr<const kernels::Int8Deconvolution> KernelOf(const Node& node,
                                                                    const Shape& x,
                                                                    const Shape& y) {
    if (!node.integers || node.integers->weight_zero_point != 0 || !Activates(node)) return nullptr;
    const auto shape = DeconvolutionShapeOf(node, x, y);
    return shape ? kernels::Int8Deconvolution::Make(*shape) : nullptr;
  }
  static std::vector<Constant> Pack(const Graph& graph, const Node& node) {
    const Value& x = graph.values[node.inputs[0]];
    const Shape& y = graph.values[node.outputs[0]].shape;
    const auto kernel = KernelOf(node, x.shape, y);
    const int8_t* weights = static_cast<const int8_t*>(node.parameters[0].data.get());
    const Constant packed = NewConstant(ElementType::INT8, kernel->packed_size());
    const Constant folded = NewConstant(ElementType::INT32, kernel->phases() * y[1]);
    kernel->PackWeights(weights, Elements<int8_t>(packed));
    kernel->FoldZeroPoint(weights, x.affine.zero_point,
                          static_cast<const int32_t*>(node.parameters[1].data.get()),
                          Elements<int32_t>(folded));
    return PackedIntegers(node, packed, folded);
  }

 private:
  const Node& node_;
  std::shared_ptr<const kernels::Int8Deconvolution> kernel_;
  kernels::Rescaling rescaling_;
  kernels::Int8Deconvolution::Rows rows_;
  Operand x_, y_;
};

std::optional<kernels::DepthwiseDeconvolutionShape> ShapeOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !Activates(node)) return {};
  return ShapeOf(node, graph.values[node.inputs[0]].shape, graph.values[node.outputs[0]].shape);
}

constexpr char kWhyNot[] = "is for Deconvolutions of each channel by itself, in two axes";

class DeconvolutionImpl : public Implementation {
 public:
  const char* name() const override { return "deconvolution"; }
  bool Takes(const Node&) const override { return true; }
  bool TakesZeroPoints(const Node& node) const override { return node.integers.has_value(); }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (node.integers) return InIntegers(context, node);
    if (!ShapeOf(context.graph, node)) return context.None(kWhyNot);
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
    if (node.integers && (!shape || !DeconvolutionKernel::HoldsIntegers(*shape))) {
      return DenseStep::Pack(graph, node);
    }
    const Constant packed =
        NewConstant(ElementType::FLOAT, DeconvolutionKernel::packed_size(*shape));
    if (node.integers) return PackIntegers(node, *shape, packed);
    const bool in_bytes = node.math == ElementType::INT8;
    const std::vector<float> weights =
        RoundedTo(in_bytes ? ElementType::FLOAT : node.math, node.parameters[0]);
    std::vector<float> bias = BiasOf(node, shape->channels);
    bias.resize(kernels::RoundUp(shape->channels, ChannelBlock()), 0.f);
    DeconvolutionKernel::PackWeights(*shape, weights.data(), Elements<float>(packed));
    const int sums = static_cast<int>(bias.size());
    return {packed, Constant::Of({sums}, std::move(bias))};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    auto epilogue = PostOpsOf(node);
    Require(node.type() == "Deconvolution" && epilogue && epilogue->residual < 0, "layer '",
            node.name(), "' (", node.type(), ") is no Deconvolution with an activation");
    if (node.integers && !node.parameters.empty() && node.parameters[0].type == ElementType::INT8) {
      return std::make_unique<DenseStep>(node);
    }
    return std::make_unique<DeconvolutionStep>(node, std::move(*epilogue));
  }

 private:
  std::vector<Candidate> InIntegers(const LoweringContext& context, const Node& node) const {
    if (node.type() != "Deconvolution" || node.inputs.size() != 1 || node.outputs.size() != 1) {
      return context.None("is for Deconvolutions");
    }
    if (!HaveRanges(context, node)) return {};
    const Graph& graph = context.graph;
    const auto shape = ShapeOf(graph, node);
    const bool takes = (shape && DeconvolutionKernel::HoldsIntegers(*shape)) ||
                       DenseStep::KernelOf(node, graph.values[node.inputs[0]].shape,
                                           graph.values[node.outputs[0]].shape);
    if (!takes) return context.None("has no kernel of integers for its shape or weights");
    return InBytes(*this, node, {kBlocked});
  }

  // Less their zero point; the kernel takes the input's off where it reads it.
  static std::vector<Constant> PackIntegers(const Node& node,
                                            const kernels::DepthwiseDeconvolutionShape& shape,
                                            const Constant& packed) {
    const Constant& given = node.parameters[0];
    std::vector<float> weights(given.count());
    DispatchInteger(given.type, [&](auto tag) {
      const auto* w = static_cast<const decltype(tag)*>(given.data.get());
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = static_cast<float>(w[i] - node.integers->weight_zero_point);
      }
    });
    DeconvolutionKernel::PackWeights(shape, weights.data(), Elements<float>(packed));
    return PackedIntegers(node, packed, node.parameters[1]);
  }
};

}  // namespace

const Implementation& Deconvolution() {
  static const DeconvolutionImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
