// Depthwise separable convolutions that backends/joined_layers.cpp has joined, in FLOAT, FLOAT16
// and BFLOAT16 by kernels/separable_block.hpp.
#include "caffe/kernels/separable_block.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "caffe/blob.hpp"
#include "caffe/core/dispatch_float.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "joined_step.hpp"

namespace caffe::inference::cpu {
namespace {

using kernels::SeparableBlock;

constexpr char kRows[] = "rows", kChannels[] = "channels";

/// Null where there is no kernel for them.
std::shared_ptr<const SeparableBlock> KernelOf(
    const std::optional<std::vector<kernels::ConvolutionShape>>& shapes,
    const std::string& variant) {
  if (!shapes || shapes->size() < 2 || shapes->size() > 3) return nullptr;
  SeparableBlock::Shapes all;
  if (shapes->size() == 3) all.expand = (*shapes)[0];
  all.depthwise = (*shapes)[shapes->size() - 2];
  all.project = shapes->back();
  return SeparableBlock::Make(
      all, variant == kChannels ? SeparableBlock::Split::CHANNELS : SeparableBlock::Split::ROWS);
}

/// Of each of so many layers.
std::vector<SeparableBlock::Packing> PackingsOf(const SeparableBlock& kernel, size_t layers) {
  std::vector<SeparableBlock::Packing> all;
  if (layers == 3) all.push_back(kernel.expand_packing());
  all.push_back(kernel.depthwise_packing());
  all.push_back(kernel.project_packing());
  return all;
}

class SeparableStep : public JoinedStep {
 public:
  explicit SeparableStep(const Node& node) : JoinedStep(node) {
    const std::string variant = VariantOf(node);
    Require(variant == kRows || variant == kChannels, "implementation 'separable' has no variant '",
            variant, "': was the plan built by another version?");
  }

  size_t scratch_bytes() const override {
    return kernel_->scratch_size(x_.shape[0]) * sizeof(float);
  }

  void Run(void* scratch) override {
    kernel_->Forward(x_.shape[0], NumbersOf(x_), block_, static_cast<float*>(scratch), Target());
  }

 private:
  void Prepare(const std::vector<kernels::ConvolutionShape>& shapes) override {
    Require(IsFloatType(x_.type) && IsFloatType(y_.type) &&
                (!residual_.data || residual_.type == y_.type),
            "its blobs are of types that kernels do not take");
    kernel_ = KernelOf(shapes, VariantOf(node_));
    Require(kernel_ != nullptr, "there is no kernel for a bottom of shape ", ShapeString(x_.shape));
    const std::vector<SeparableBlock::Packing> packings = PackingsOf(*kernel_, layers_.size());
    std::vector<SeparableBlock::Layer> layers;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<Constant>& parameters = layers_[i].parameters;
      RequireParameter(parameters, 0, node_.math, packings[i].size);
      RequireParameter(parameters, 1, ElementType::FLOAT, shapes[i].outputs);
      SeparableBlock::Layer& layer = layers.emplace_back();
      layer.weights = {parameters[0].data.get(), parameters[0].type};
      layer.post = Post(i);
      layer.post.bias = parameters[1].floats();
    }
    if (layers.size() == 3) block_.expand = layers[0];
    block_.depthwise = layers[layers.size() - 2];
    block_.project = layers.back();
  }

  std::shared_ptr<const SeparableBlock> kernel_;
  SeparableBlock::Layers block_;
};

class SeparableImplementation : public Implementation {
 public:
  const char* name() const override { return "separable"; }
  bool has_variants() const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const Value& input = context.graph.values[node.inputs[0]];
    if (!IsJoined(node) || !IsFloatType(node.math) || input.layout != kBlocked) {
      return context.None("is for separable blocks, which a later pass joins");
    }
    if (!KernelOf(ShapesOfJoined(JoinedLayers(node), input.shape), VariantOf(node))) {
      return context.None("has no kernel for its shape");
    }
    std::vector<Candidate> all;
    for (const char* const variant : {kRows, kChannels}) {
      const Format blocked = {node.math, kBlocked};
      all.push_back(Formats(*this, node, node.math, blocked, blocked));
      all.back().variant = variant;
    }
    return all;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const std::vector<Node> layers = JoinedLayers(node);
    const Shape& input = graph.values[node.inputs[0]].shape;
    const auto kernel = KernelOf(ShapesOfJoined(layers, input), VariantOf(node));
    if (!kernel) throw Unsupported("has no kernel for its shape");
    const std::vector<SeparableBlock::Packing> packings = PackingsOf(*kernel, layers.size());
    std::vector<Constant> packed;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Node& layer = layers[i];
      packed.push_back(NewConstant(node.math, packings[i].size));
      DispatchFloat(node.math, [&](auto tag) {
        using W = decltype(tag);
        W* const to = Elements<W>(packed.back());
        const float* const weights = layer.parameters[0].floats();
        packings[i].for_each(
            [&](size_t at, size_t from) { to[at] = static_cast<W>(weights[from]); });
      });
      const int outputs = layer.layer.convolution_param().num_output();
      packed.push_back(Constant::Of({outputs}, BiasOf(layer, outputs)));
    }
    return packed;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<SeparableStep>(node);
  }
};

}  // namespace

const Implementation& SeparableBlock() {
  static const SeparableImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
