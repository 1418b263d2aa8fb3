// Convolutions of 8-bit integers by kernels/int8_convolution.hpp: exact sums, the rest in float.
#include "caffe/kernels/int8_convolution.hpp"

#include "caffe/inference/weight_quantization.hpp"
#include "convolution_node.hpp"
#include "element_types.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

using Kernel = std::shared_ptr<const kernels::Int8Convolution>;

class ConvolutionStep : public Step {
 public:
  explicit ConvolutionStep(const Node& node) : node_(node), epilogue_(*FusedEpilogueOf(node)) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    if (epilogue_.residual >= 0) residual_ = binding.operands[epilogue_.residual];
    kernel_ =
        kernels::Int8Convolution::Make(*ConvolutionShapeOf(node_, x_.shape, y_.shape), !x_.blocked);
    // The scale of a sum is that of the weights times the input's.
    const float* scales = node_.parameters[2].floats();
    scales_.resize(node_.parameters[2].count());
    for (size_t o = 0; o < scales_.size(); ++o) scales_[o] = scales[o] * x_.scale;
  }
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(x_.shape[0]); }
  bool takes_strides() const override { return true; }

  void Run(void* scratch) override {
    DispatchInteger(x_.type, [&](auto x) {
      DispatchWritten(y_.type, [&](auto y) {
        DispatchWritten(residual_.type, [&](auto residual) {
          RunIn<decltype(x), decltype(y), decltype(residual)>(scratch);
        });
      });
    });
  }

 private:
  template <typename X, typename Y, typename R>
  void RunIn(void* scratch) {
    kernels::Int8Convolution::Epilogue<Y, R> epilogue;
    epilogue.scale = scales_.data();
    epilogue.bias = node_.parameters[1].floats();
    epilogue.residual = residual_.as<const R>();
    epilogue.residual_scale = residual_.scale;
    epilogue.activation = epilogue_.activation;
    epilogue.factor = 1 / y_.scale;
    kernel_->Forward(x_.shape[0], x_.as<const X>(),
                     static_cast<const int8_t*>(node_.parameters[0].data.get()), epilogue, scratch,
                     y_.as<Y>(), StridesOf(x_, y_, residual_));
  }

  const Node& node_;
  const FusedEpilogue epilogue_;
  Kernel kernel_;
  std::vector<float> scales_;
  Operand x_, y_, residual_;
};

class Family : public Implementation {
 public:
  const char* name() const override { return "int8"; }

  std::vector<Candidate> Candidates(const Context& context, const Node& node) const override {
    const Graph& graph = context.graph;
    if (!context.Stores(ElementType::INT8) || node.inputs.size() != 1 ||
        !context.ranges[node.inputs[0]].known()) {
      return {};
    }
    const auto shape = ConvolutionShapeOf(node, graph.values[node.inputs[0]].shape,
                                          graph.values[node.outputs[0]].shape);
    const auto epilogue = FusedEpilogueOf(node);
    if (!shape || !epilogue) return {};
    std::vector<Candidate> candidates;
    for (const bool plain : {true, false}) {
      if (plain && (shape->channels > kPlainChannels || shape->group > 1)) continue;
      if (!kernels::Int8Convolution::Make(*shape, plain)) continue;
      for (const ElementType type : {ElementType::INT8, ElementType::FLOAT}) {
        if (type == ElementType::INT8 && !context.ranges[node.outputs[0]].known()) continue;
        Candidate candidate =
            Formats(*this, node, ElementType::INT8, {ElementType::INT8, !plain}, {type, true});
        if (epilogue->residual >= 0) {
          // The residual comes as it is there: in 8 bits, or as floats.
          const int operand = node.epilogue[epilogue->residual].operand;
          candidate.operands[epilogue->residual] = {ElementType::FLOAT, true};
          candidates.push_back(candidate);
          if (!context.ranges[operand].known()) continue;
          candidate.operands[epilogue->residual] = {ElementType::INT8, true};
        }
        candidates.push_back(candidate);
      }
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& input = graph.values[node.inputs[0]];
    const auto shape = ConvolutionShapeOf(node, input.shape, graph.values[node.outputs[0]].shape);
    const Kernel kernel = kernels::Int8Convolution::Make(*shape, input.layout == Layout::PLAIN);
    const QuantizedWeights quantized =
        QuantizeWeights(node.layer, node.parameters[0].shape, node.parameters[0].floats());
    const Constant packed = NewConstant(ElementType::INT8, kernel->packed_size());
    kernel->PackWeights(quantized.values.data(), Elements<int8_t>(packed));
    return {packed, Constant::Of({shape->outputs}, BiasOf(node, shape->outputs)),
            Constant::Of({shape->outputs}, quantized.scales)};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<ConvolutionStep>(node);
  }
};

}  // namespace

const Implementation& Int8Convolution() {
  static const Family family;
  return family;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
