// Depthwise separable convolutions that backends/separable_blocks.cpp has joined, in FLOAT, FLOAT16
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
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

using kernels::SeparableBlock;

constexpr char kRows[] = "rows", kChannels[] = "channels";

/// The layers of a joined node, the first of which may be missing.
struct BlockLayers {
  explicit BlockLayers(const Node& node) : all(JoinedLayers(node)) {
    Require(all.size() == 2 || all.size() == 3, "layer '", node.name(), "' joins ", all.size(),
            " convolutions, not 2 or 3", Error::Remedy{"build the plan again"});
  }
  bool expands() const { return all.size() == 3; }
  size_t size() const { return all.size(); }

  std::vector<Node> all;
};

/// Null where there is no kernel for it. Throws Error where a layer, in a damaged plan, does not
/// have the outputs that it says.
std::shared_ptr<const SeparableBlock> KernelOf(const Node& node, const BlockLayers& layers,
                                               const Shape& input) {
  const std::vector<Shape> made = JoinedShapes(layers.all, input);
  std::vector<kernels::ConvolutionShape> shapes;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto shape = ConvolutionShapeOf(layers.all[i], i == 0 ? input : made[i - 1], made[i]);
    if (!shape) return nullptr;
    const uint32_t outputs = layers.all[i].layer.convolution_param().num_output();
    Require(outputs == static_cast<uint32_t>(shape->outputs), "layer '", layers.all[i].name(),
            "': ", Error::Field{"num_output"}, " is ", outputs, ", and it has ", shape->outputs,
            Error::Remedy{"build the plan again"});
    shapes.push_back(*shape);
  }
  SeparableBlock::Shapes all;
  if (layers.expands()) all.expand = shapes[0];
  all.depthwise = shapes[shapes.size() - 2];
  all.project = shapes.back();
  const bool by_channels = VariantOf(node) == kChannels;
  return SeparableBlock::Make(
      all, by_channels ? SeparableBlock::Split::CHANNELS : SeparableBlock::Split::ROWS);
}

std::vector<SeparableBlock::Packing> PackingsOf(const SeparableBlock& kernel, bool expands) {
  std::vector<SeparableBlock::Packing> all;
  if (expands) all.push_back(kernel.expand_packing());
  all.push_back(kernel.depthwise_packing());
  all.push_back(kernel.project_packing());
  return all;
}

class SeparableStep : public Step {
 public:
  explicit SeparableStep(const Node& node) : node_(node), layers_(node) {
    const std::string variant = VariantOf(node);
    Require(variant == kRows || variant == kChannels, "implementation 'separable' has no variant '",
            variant, "': was the plan built by another version?");
    const size_t count = node.epilogue.size();
    for (size_t i = 0; i < layers_.size(); ++i) {
      const auto post = PostOpsOf(layers_.all[i]);
      Require(post && (post->residual < 0 || i + 1 == layers_.size()), "layer '",
              layers_.all[i].name(), "': no kernel has its epilogue");
      post_.push_back(*post);
    }
    const int residual = post_.back().residual;
    if (residual >= 0) residual_step_ = count - layers_.all.back().epilogue.size() + residual;
  }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs.at(0);
    y_ = binding.outputs.at(0);
    residual_ = residual_step_ ? binding.operands.at(*residual_step_) : Operand();
    const auto takes = [](const Operand& operand) {
      return operand.blocked() && IsFloatType(operand.type);
    };
    Require(takes(x_) && takes(y_) &&
                (!residual_.data || (residual_.layout == y_.layout && residual_.type == y_.type &&
                                     residual_.shape == y_.shape)),
            "its blobs do not lie as kernels take them");
    kernel_ = KernelOf(node_, layers_, x_.shape);
    Require(kernel_ != nullptr, "there is no kernel for a bottom of shape ", ShapeString(x_.shape));
    const std::vector<SeparableBlock::Packing> packings = PackingsOf(*kernel_, layers_.expands());
    std::vector<SeparableBlock::Layer> layers;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<Constant>& parameters = layers_.all[i].parameters;
      RequireParameter(parameters, 0, node_.math, packings[i].size);
      RequireParameter(parameters, 1, ElementType::FLOAT,
                       layers_.all[i].layer.convolution_param().num_output());
      SeparableBlock::Layer& layer = layers.emplace_back();
      layer.weights = {parameters[0].data.get(), parameters[0].type};
      layer.post.bias = parameters[1].floats();
      layer.post.activation = post_[i].activation();
    }
    layers.back().post.residual = NumbersOf(residual_);
    if (layers_.expands()) block_.expand = layers[0];
    block_.depthwise = layers[layers.size() - 2];
    block_.project = layers.back();
  }

  size_t scratch_bytes() const override {
    return kernel_->scratch_size(x_.shape[0]) * sizeof(float);
  }
  bool takes_strides() const override { return true; }

  void Run(void* scratch) override {
    const auto stride = [](const Operand& operand) {
      return operand.data && !operand.dense() ? operand.stride : 0;
    };
    kernel_->Forward(x_.shape[0], NumbersOf(x_), block_, static_cast<float*>(scratch),
                     {y_.data, y_.type, {stride(x_), stride(y_), stride(residual_)}});
  }

 private:
  const Node& node_;
  const BlockLayers layers_;
  std::vector<NodePostOps> post_;
  std::optional<size_t> residual_step_;  // of the node's epilogue
  Operand x_, y_, residual_;             // no data: there is no residual
  std::shared_ptr<const SeparableBlock> kernel_;
  SeparableBlock::Layers block_;
};

class SeparableImplementation : public Implementation {
 public:
  const char* name() const override { return "separable"; }
  bool has_variants() const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsJoined(node)) return context.None("is for separable blocks, which a later pass joins");
    if (!KernelOf(node, BlockLayers(node), context.graph.values[node.inputs[0]].shape)) {
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
    const BlockLayers layers(node);
    const auto kernel = KernelOf(node, layers, graph.values[node.inputs[0]].shape);
    if (!kernel) throw Unsupported("has no kernel for its shape");
    const std::vector<SeparableBlock::Packing> packings = PackingsOf(*kernel, layers.expands());
    std::vector<Constant> packed;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Node& layer = layers.all[i];
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
