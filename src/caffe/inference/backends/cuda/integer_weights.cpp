// Layers with weights on 8-bit integers, with integers alone.
#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/cpu/integer_rescaling.hpp"
#include "caffe/inference/backends/integer_node.hpp"
#include "caffe/kernels/cuda/integer_convolution.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cuda {
namespace {

/// Parameters: packed weights, folded biases, multipliers, shifts, and those of negative sums.
class WeightedStep : public Step {
 public:
  explicit WeightedStep(const Node& node) : node_(node) {}
  // Rows of an inner product need not be images.
  bool takes_strides() const override { return node_.type() != "InnerProduct"; }

  void Bind(const Binding& binding) override {
    const Operand &x = binding.inputs[0], &y = binding.outputs[0];
    const auto shape = WeightedShapeOf(node_, x.shape, y.shape);
    Require(shape && IsInteger(x) && IsInteger(y) && x.layout == y.layout,
            "its blobs are in a layout that the kernel does not take");
    shape_ = *shape;
    const bool is_row = shape_.axes() == 0;
    const size_t rows = CountOf(y.shape) / shape_.outputs;
    x_ = is_row ? RowsOf(x, rows) : IntegersOf(x);
    y_ = is_row ? RowsOf(y, rows) : IntegersOf(y);
    const bool is_unsigned = node_.parameters[0].type == ElementType::UINT8;
    RequireParameter(node_, 0, is_unsigned ? ElementType::UINT8 : ElementType::INT8,
                     caffe::cuda::PackedIntegersSize(shape_));
    weights_ = {binding.parameters[0], is_unsigned, node_.integers->weight_zero_point};
    const auto numbers = [&](size_t i) {
      return static_cast<const int32_t*>(binding.parameters[i]);
    };
    by_ = cpu::RescalingOf(node_, shape_.outputs, x, y);
    by_.bias = numbers(1);
    by_.multipliers = numbers(2);
    by_.shifts = numbers(3);
    if (!by_.negative_multipliers) return;
    by_.negative_multipliers = numbers(4);
    by_.negative_shifts = numbers(5);
  }

  void Run(void*) override {
    caffe::cuda::ConvolveIntegers(caffe::cuda::CurrentStream(), shape_,
                                  node_.type() == "Deconvolution", x_, weights_, by_, y_);
  }

 private:
  const Node& node_;
  kernels::ConvolutionShape shape_;
  caffe::cuda::Integers x_, y_;
  caffe::cuda::IntegerWeights weights_;
  kernels::Rescaling by_;
};

class IntegerWeightsImpl : public Implementation {
 public:
  const char* name() const override { return "integer_weights"; }
  bool Takes(const Node& node) const override { return node.integers.has_value(); }
  bool TakesZeroPoints(const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const Shape& y = context.graph.values[node.outputs.at(0)].shape;
    const auto shape = WeightedShapeOf(node, context.graph.values[node.inputs.at(0)].shape, y);
    if (!shape || shape->axes() > caffe::cuda::kMaxIntegerAxes || StepWithOperand(node)) {
      return context.None(Join("is for layers with weights, of up to ",
                               caffe::cuda::kMaxIntegerAxes, " axes, without a residual"));
    }
    if (!HaveRanges(context, node)) return {};
    return shape->axes() > 0 ? InBytes(*this, node, {kLast, kPlain})
                             : InBytes(*this, node, {kPlain});
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value &x = graph.values[node.inputs[0]], &y = graph.values[node.outputs[0]];
    const auto shape = WeightedShapeOf(node, x.shape, y.shape);
    Require(shape.has_value(), "layer '", node.name(), "' (", node.type(),
            ") has no weights of integers");
    const Constant weights = WeightsByOutput(node, *shape);
    const Constant packed = NewConstant(weights.type, caffe::cuda::PackedIntegersSize(*shape));
    caffe::cuda::PackIntegers(*shape, static_cast<const uint8_t*>(weights.data.get()),
                              static_cast<uint8_t>(node.integers->weight_zero_point),
                              Elements<uint8_t>(packed));
    return cpu::PackedIntegers(
        node, packed,
        ConstantOf(ElementType::INT32, {shape->outputs},
                   FoldedBiases(node, weights, shape->outputs, x.affine.zero_point)));
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    Require(node.integers && node.inputs.size() == 1 && node.outputs.size() == 1 &&
                !node.parameters.empty(),
            "layer '", node.name(), "' (", node.type(), ") has no weights of integers");
    return std::make_unique<WeightedStep>(node);
  }
};

}  // namespace

const Implementation& IntegerWeights() {
  static const IntegerWeightsImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
