// Convolutions and all that follows them in one kernel, in every type; each implementation of
// kernels/cuda/fused_convolution.hpp is a variant.
#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "convolution_problem.hpp"
#include "cuda_engine.hpp"

namespace caffe::inference::cuda {
namespace {

/// The node's geometry, with channels padded as in the input's and output's layouts; not set where
/// kernels cannot compute it. `residual` may be null.
std::optional<kernels::ConvolutionShape> FilledShape(const Node& node, const Value& input,
                                                     const Value& output, const Value* residual) {
  auto shape = ConvolutionShapeOf(node, input.shape, output.shape);
  if (!shape || shape->input.size() > 2 || CountOf(output.shape) == 0) return {};
  if (input.layout == kPlain) return shape;
  const auto filled = [](const Value& value) { return PadChannels(value.shape[1], value.type); };
  const int channels = filled(input), outputs = filled(output);
  const bool whole = channels == shape->channels && outputs == shape->outputs;
  if (residual && filled(*residual) != outputs) return {};
  if (shape->group == 1 || whole) {
    shape->channels = channels;
    shape->outputs = outputs;
    return shape;
  }
  // Each channel by itself: the padding, too.
  if (shape->group != shape->channels || shape->group != shape->outputs || channels != outputs) {
    return {};
  }
  shape->group = shape->channels = shape->outputs = channels;
  return shape;
}

const Value* ResidualOf(const Graph& graph, const Node& node, const NodePostOps& epilogue) {
  if (epilogue.residual < 0) return nullptr;
  return &graph.values[node.epilogue[epilogue.residual].operand];
}

/// The weights with zeros for the padding. T: float or int8_t.
template <typename T>
std::vector<T> FillUp(const kernels::ConvolutionShape& given,
                      const kernels::ConvolutionShape& filled, const T* weights) {
  std::vector<T> all(filled.weight_count(), T(0));
  size_t kernel = 1;
  for (const int extent : given.kernel) kernel *= extent;
  const size_t old_row = given.channels / given.group * kernel;
  const size_t row = filled.channels / filled.group * kernel;
  for (int o = 0; o < given.outputs; ++o) {
    std::copy_n(weights + o * old_row, old_row, all.data() + o * row);
  }
  return all;
}

class ConvolutionStep : public Step {
 public:
  explicit ConvolutionStep(const Node& node) : node_(node) {
    const auto epilogue = PostOpsOf(node);
    Require(IsConvolutionOfOne(node) && epilogue, "layer '", node.name(), "' (", node.type(),
            ") is not a convolution that kernels take");
    post_ops_ = *epilogue;
  }

  bool takes_strides() const override { return true; }
  size_t scratch_bytes() const override { return way_.workspace_bytes(); }

  void Bind(const Binding& binding) override {
    const Operand &x = binding.inputs[0], &y = binding.outputs[0];
    const Operand residual =
        post_ops_.residual >= 0 ? binding.operands[post_ops_.residual] : Operand();
    const Value input = AsValue(x), output = AsValue(y), added = AsValue(residual);
    const auto shape = FilledShape(node_, input, output, residual.data ? &added : nullptr);
    Require(shape.has_value() && x.layout == y.layout, "no kernel takes a bottom of shape ",
            ShapeString(x.shape));
    Require(!residual.data || (residual.layout == y.layout && residual.shape == y.shape),
            "its residual and its top differ in layout");
    caffe::cuda::ConvolutionProblem problem;
    problem.num = x.shape[0];
    problem.shape = *shape;
    problem.used_channels = x.shape[1];
    problem.channels_last = y.layout == kLast;
    way_.Bind(problem, node_, post_ops_, {x, y, residual}, binding.parameters);
  }

  void Run(void* scratch) override { way_.Run(scratch); }

 private:
  static bool IsConvolutionOfOne(const Node& node) {
    return node.inputs.size() == 1 && node.outputs.size() == 1 && node.type() != "Deconvolution" &&
           node.type() != "InnerProduct";
  }
  static Value AsValue(const Operand& operand) {
    Value value;
    value.shape = operand.shape;
    value.type = operand.type;
    value.layout = operand.layout;
    return value;
  }

  const Node& node_;
  NodePostOps post_ops_;
  BoundConvolution way_;
};

class ConvolutionImpl : public Implementation {
 public:
  const char* name() const override { return "convolution"; }
  bool has_variants() const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!ConvolutionShapeOf(context.graph, node) || !PostOpsOf(node)) {
      return context.None("is for convolutions with what kernels can fuse");
    }
    std::vector<Candidate> candidates;
    Add(context, node, ElementType::FLOAT, {ElementType::FLOAT, kPlain}, ElementType::FLOAT,
        &candidates);
    for (const ElementType type : kFloatTypes) {
      if (context.Stores(type)) Add(context, node, type, {type, kLast}, type, &candidates);
    }
    if (const std::string reason = context.WhyNotInt8(node.inputs[0]); !reason.empty()) {
      if (context.Stores(ElementType::INT8)) context.Note(reason);
      return candidates;
    }
    const Format integers = {ElementType::INT8, kLast};
    Add(context, node, ElementType::INT8, integers, ElementType::FLOAT, &candidates);
    if (context.ranges[node.outputs[0]].known()) {
      Add(context, node, ElementType::INT8, integers, ElementType::INT8, &candidates);
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value &input = graph.values[node.inputs[0]], &output = graph.values[node.outputs[0]];
    const NodePostOps epilogue = *PostOpsOf(node);
    const auto given = ConvolutionShapeOf(graph, node);
    const auto filled = FilledShape(node, input, output, ResidualOf(graph, node, epilogue));
    const std::vector<float> bias = BiasOf(node, given->outputs);
    const bool last = input.layout == kLast;
    const float* const weights = node.parameters[0].floats();
    if (node.math != ElementType::INT8) {
      return PackedParameters(node, epilogue, *filled, last, FillUp(*given, *filled, weights),
                              bias);
    }
    const QuantizedWeights quantized = QuantizeWeights(node);
    return PackedParameters(node, epilogue, *filled, last,
                            FillUp(*given, *filled, quantized.values.data()), quantized.scales,
                            input.affine.scale, bias);
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<ConvolutionStep>(node);
  }

 private:
  /// Candidates that write `written`, one for each variant; residuals have the output's format, or
  /// integers that are written or read anyway.
  void Add(const LoweringContext& context, const Node& node, ElementType math, const Format& input,
           ElementType written, std::vector<Candidate>* candidates) const {
    if (!context.Wants(math)) return;
    const NodePostOps epilogue = *PostOpsOf(node);
    const Format output = {written, input.layout};
    std::vector<Format> residuals = {output};
    if (epilogue.residual >= 0 && math == ElementType::INT8) {
      const int operand = node.epilogue[epilogue.residual].operand;
      residuals = {{ElementType::FLOAT, kLast}};
      if (context.ranges[operand].known()) residuals.push_back({ElementType::INT8, kLast});
    }
    for (const Format& residual : residuals) {
      Candidate candidate = Formats(*this, node, math, input, output);
      candidate.operands.assign(node.epilogue.size(), residual);
      AddWays(context, node, epilogue, candidate, candidates);
    }
  }

  void AddWays(const LoweringContext& context, const Node& node, const NodePostOps& epilogue,
               Candidate candidate, std::vector<Candidate>* candidates) const {
    const auto in = [&](int value, const Format& format) {
      Value described = context.graph.values[value];
      SetFormat(CudaTarget(), format, context.ranges[value], &described);
      return described;
    };
    const Value input = in(node.inputs[0], candidate.inputs[0]);
    const Value output = in(node.outputs[0], candidate.outputs[0]);
    Value residual;
    if (epilogue.residual >= 0) {
      residual =
          in(node.epilogue[epilogue.residual].operand, candidate.operands[epilogue.residual]);
    }
    const auto shape =
        FilledShape(node, input, output, epilogue.residual >= 0 ? &residual : nullptr);
    if (!shape) {
      context.Note("has no kernel for these channels and groups as they lie");
      return;
    }
    caffe::cuda::ConvolutionProblem problem;
    problem.num = input.shape[0];
    problem.shape = *shape;
    problem.used_channels = input.shape[1];
    problem.channels_last = input.layout == kLast;
    problem.input = input.type;
    problem.output = output.type;
    problem.residual = epilogue.residual >= 0 ? residual.type : output.type;
    problem.has_residual = epilogue.residual >= 0;
    problem.activation = ActivationOf(epilogue, nullptr);
    AddVariants(problem, context.tensor_float, candidate, candidates);
  }
};

}  // namespace

const Implementation& Convolution() {
  static const ConvolutionImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
