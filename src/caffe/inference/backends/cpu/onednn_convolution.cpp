// Convolutions in FLOAT by oneDNN.
#include "../../../onednn/onednn.hpp"

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "convolution_node.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

using Options = onednn::FusedConvolution::Options;

Options OptionsFor(const Node& node, bool plain_input, int packed_num) {
  const FusedEpilogue epilogue = *FusedEpilogueOf(node);
  Options options;
  options.bias = true;
  options.residual = epilogue.residual >= 0;
  options.activation = epilogue.activation;
  options.blocked_source = !plain_input;
  options.blocked_target = true;
  options.block = ChannelBlock();
  options.packed_num = packed_num;
  return options;
}

class ConvolutionStep : public Step {
 public:
  ConvolutionStep(const Graph& graph, const Node& node)
      : node_(node), packed_num_(graph.values[node.inputs[0]].shape[0]) {}

  bool takes_strides() const override { return true; }

  void Bind(const Binding& binding) override {
    const Operand& x = binding.inputs[0];
    const Operand& y = binding.outputs[0];
    const int residual = FusedEpilogueOf(node_)->residual;
    residual_ = residual >= 0 ? binding.operands[residual] : Operand();
    x_ = x;
    y_ = y;
    Options options = OptionsFor(node_, !x.blocked, packed_num_);
    options.source_stride = x.stride;
    options.target_stride = y.stride;
    options.residual_stride = residual_.stride;
    passes_ = 1;
    const auto make = [&](int num) {
      convolution_ = onednn::FusedConvolution::Make(*ConvolutionShapeOf(node_, x.shape, y.shape),
                                                    num, options);
      return convolution_ && convolution_->packed_size() == node_.parameters[0].count();
    };
    if (make(x.shape[0])) return;
    // Not with gaps between the images: one after the other.
    passes_ = x.shape[0];
    options.source_stride = options.target_stride = options.residual_stride = 0;
    Require(make(1), "oneDNN has no such convolution for a bottom of shape ", ShapeString(x.shape));
  }

  void Run(void*) override {
    for (int n = 0; n < passes_; ++n) {
      const float* residual =
          residual_.data ? residual_.as<const float>() + n * residual_.stride : nullptr;
      convolution_->Forward(x_.as<const float>() + n * x_.stride, node_.parameters[0].floats(),
                            node_.parameters[1].floats(), residual, y_.as<float>() + n * y_.stride);
    }
  }

 private:
  const Node& node_;
  const int packed_num_;
  std::unique_ptr<onednn::FusedConvolution> convolution_;
  Operand x_, y_, residual_;
  int passes_ = 1;  // over which the images are spread
};

class Family : public Implementation {
 public:
  const char* name() const override { return "onednn"; }

  std::vector<Candidate> Candidates(const Context& context, const Node& node) const override {
    const Shape& input = context.graph.values[node.inputs[0]].shape;
    const Shape& output = context.graph.values[node.outputs[0]].shape;
    const auto shape = ConvolutionShapeOf(node, input, output);
    if (!shape || !FusedEpilogueOf(node)) return {};
    std::vector<Candidate> candidates;
    for (const bool plain : {true, false}) {
      if (plain && (shape->channels > kPlainChannels || shape->group > 1)) continue;
      if (!onednn::FusedConvolution::Make(*shape, input[0], OptionsFor(node, plain, input[0]))) {
        continue;
      }
      candidates.push_back(Formats(*this, node, ElementType::FLOAT, {ElementType::FLOAT, !plain},
                                   {ElementType::FLOAT, true}));
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& input = graph.values[node.inputs[0]];
    const auto shape = ConvolutionShapeOf(node, input.shape, graph.values[node.outputs[0]].shape);
    const auto convolution = onednn::FusedConvolution::Make(
        *shape, input.shape[0], OptionsFor(node, input.layout == Layout::PLAIN, input.shape[0]));
    const Constant packed = NewConstant(ElementType::FLOAT, convolution->packed_size());
    convolution->PackWeights(node.parameters[0].floats(), Elements<float>(packed));
    return {packed, Constant::Of({shape->outputs}, BiasOf(node, shape->outputs))};
  }

  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    return std::make_unique<ConvolutionStep>(graph, node);
  }
};

}  // namespace

const Implementation& OneDnnConvolution() {
  static const Family family;
  return family;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
