// Convolutions in FLOAT by oneDNN, and of few weights rounded to 16 bits, between floats.
#include "caffe/onednn/onednn.hpp"

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/constants.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "convolution_step.hpp"

namespace caffe::inference::cpu {
namespace {

using Options = onednn::FusedConvolution::Options;

// Weights that may lie there as floats where they were to be halves.
constexpr size_t kMostWide = 1 << 15;

/// For weights packed for this convolution of `packed_num` images.
Options OptionsFor(const Node& node, bool plain_input,
                   const kernels::ConvolutionShape& packed_shape, int packed_num) {
  const NodePostOps epilogue = *PostOpsOf(node);
  Options options;
  options.bias = true;
  options.residual = epilogue.residual >= 0;
  options.activation = epilogue.activation();
  options.activation.slopes = nullptr;  // those of a temporary
  options.blocked_source = !plain_input;
  options.blocked_target = true;
  options.block = ChannelBlock();
  options.packed_shape = packed_shape;
  options.packed_num = packed_num;
  return options;
}

class OneDnnStep : public ConvolutionStep {
 public:
  OneDnnStep(const Graph& graph, const Node& node)
      : ConvolutionStep(node), built_(ConvolutionShapeOf(graph, node)) {
    if (built_) built_num_ = graph.values[node.inputs[0]].shape[0];
  }

  void Run(void*) override {
    for (int n = 0; n < passes_; ++n) {
      const float* residual =
          residual_.data ? residual_.as<const float>() + n * residual_.stride : nullptr;
      convolution_->Forward(x_.as<const float>() + n * x_.stride, node_.parameters[0].floats(),
                            node_.parameters[1].floats(), residual,
                            post_ops_.slopes.empty() ? nullptr : post_ops_.slopes.data(),
                            y_.as<float>() + n * y_.stride);
    }
  }

 private:
  void Prepare(const kernels::ConvolutionShape& shape) override {
    for (const Operand* operand : {&x_, &y_, &residual_}) {
      Require(operand->type == ElementType::FLOAT, "a blob is ", Name(operand->type),
              ", not FLOAT");
    }
    RequireParameter(node_, 0, ElementType::FLOAT, node_.parameters[0].count());
    Require(built_.has_value(), "it was not built for a convolution");
    Options options = OptionsFor(node_, !x_.blocked(), *built_, built_num_);
    options.source_stride = x_.stride;
    options.target_stride = y_.stride;
    options.residual_stride = residual_.stride;
    passes_ = 1;
    const auto make = [&](int num) {
      convolution_ = onednn::FusedConvolution::Make(shape, num, options);
      return convolution_ && convolution_->packed_size() == node_.parameters[0].count();
    };
    if (make(x_.shape[0])) return;
    // Not with gaps between the images: one after the other.
    passes_ = x_.shape[0];
    options.source_stride = options.target_stride = options.residual_stride = 0;
    Require(make(1), "oneDNN has no such convolution for a bottom of shape ",
            ShapeString(x_.shape));
  }

  const std::optional<kernels::ConvolutionShape> built_;  // for which the weights are packed
  int built_num_ = 0;
  std::unique_ptr<onednn::FusedConvolution> convolution_;
  int passes_ = 1;  // over which the images are spread
};

class Family : public Implementation {
 public:
  const char* name() const override { return "onednn"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const auto shape = ConvolutionShapeOf(context.graph, node);
    if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
    if (!onednn::Enabled()) return context.None("is off, or not in this build");
    const Shape& input = context.graph.values[node.inputs[0]].shape;
    std::vector<Candidate> candidates;
    for (const bool plain : {true, false}) {
      if (plain && (shape->channels > kPlainChannels || shape->group > 1)) continue;
      const auto convolution = onednn::FusedConvolution::Make(
          *shape, input[0], OptionsFor(node, plain, *shape, input[0]));
      if (!convolution) continue;
      for (const ElementType type : kFloatTypes) {
        if (!context.Stores(type)) continue;
        if (type != ElementType::FLOAT && convolution->packed_size() > kMostWide) continue;
        candidates.push_back(Formats(*this, node, type,
                                     {ElementType::FLOAT, plain ? kPlain : kBlocked},
                                     {ElementType::FLOAT, kBlocked}));
      }
    }
    if (candidates.empty()) context.Note("has no fast convolution of this shape between floats");
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& input = graph.values[node.inputs[0]];
    const auto shape = ConvolutionShapeOf(graph, node);
    const auto convolution = onednn::FusedConvolution::Make(
        *shape, input.shape[0],
        OptionsFor(node, input.layout == Layout::PLAIN, *shape, input.shape[0]));
    const Constant packed = NewConstant(ElementType::FLOAT, convolution->packed_size());
    const std::vector<float> weights = RoundedTo(node.math, node.parameters[0]);
    convolution->PackWeights(weights.data(), Elements<float>(packed));
    return {packed, Constant::Of({shape->outputs}, BiasOf(node, shape->outputs))};
  }

  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    return std::make_unique<OneDnnStep>(graph, node);
  }
};

}  // namespace

const Implementation& OneDnnConvolution() {
  static const Family family;
  return family;
}

}  // namespace caffe::inference::cpu
