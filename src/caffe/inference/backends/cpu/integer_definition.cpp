// Layers with weights by the definitions of integer_reference.hpp: the reference for other kernels,
// and the fallback where there is none.
#include <algorithm>

#include "byte_step.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/integer_reference.hpp"
#include "cpu_target.hpp"
#include "integer_rescaling.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

class DefinitionStep : public Step {
 public:
  explicit DefinitionStep(const Node& node) : node_(node) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    const auto shape = WeightedShapeOf(node_, x_.shape, y_.shape);
    Require(shape && IsInteger(x_) && IsInteger(y_) && x_.plain() && y_.plain(),
            "its blobs are in a layout that the kernel does not take");
    shape_ = *shape;
    ReadParameters(shape_.outputs);
    residual_ = ResidualOf(node_, y_, AddedIn(binding));
  }

  void Run(void*) override {
    DispatchInteger(node_.parameters[0].type, [&](auto weight) {
      DispatchInteger(x_.type, [&](auto from) {
        DispatchInteger(y_.type, [&](auto to) {
          Compute(static_cast<const decltype(weight)*>(node_.parameters[0].data.get()),
                  x_.as<const decltype(from)>(), y_.as<decltype(to)>());
        });
      });
    });
  }

 private:
  static Operand AddedIn(const Binding& binding) {
    const auto added = std::find_if(binding.operands.begin(), binding.operands.end(),
                                    [](const Operand& operand) { return operand.data != nullptr; });
    return added == binding.operands.end() ? Operand() : *added;
  }

  void ReadParameters(size_t outputs) {
    constexpr ElementType kInteger = ElementType::INT32;
    const size_t given = node_.parameters.size();
    Require(given == 5 || given == 7, "it has ", given, " parameters");
    by_.multipliers = ParameterOf<int32_t>(node_, 2, kInteger, outputs);
    by_.shifts = ParameterOf<int32_t>(node_, 3, kInteger, outputs);
    if (given == 7) {
      by_.negative_multipliers = ParameterOf<int32_t>(node_, 5, kInteger, outputs);
      by_.negative_shifts = ParameterOf<int32_t>(node_, 6, kInteger, outputs);
    }
    by_.input_zero_point = x_.zero_point;
    SetOutputs(node_, y_, &by_);
    // Once: weights and zero points do not change.
    if (bias_.size() != outputs) {
      bias_ = FoldedBiases(node_, WeightsByOutput(node_, shape_), outputs, x_.zero_point);
    }
    by_.bias = bias_.data();
  }

  template <typename X, typename W, typename Y>
  void Compute(const W* weights, const X* x, Y* y) {
    const int32_t zero = node_.integers->weight_zero_point;
    if (node_.type() == "InnerProduct") {
      kernels::IntegerInnerProduct(CountOf(y_.shape) / shape_.outputs, shape_.channels,
                                   shape_.outputs, x, weights, zero, by_, y);
    } else if (node_.type() == "Deconvolution") {
      kernels::IntegerDeconvolution(shape_, x_.shape[0], x, weights, zero, by_, y);
    } else {
      kernels::IntegerConvolution(shape_, x_.shape[0], x, weights, zero, by_, y,
                                  residual_ ? &*residual_ : nullptr);
    }
  }

  const Node& node_;
  Operand x_, y_;
  kernels::ConvolutionShape shape_;
  kernels::Rescaling by_;
  std::vector<int32_t> bias_;
  std::optional<kernels::Residual> residual_;
};

class IntegerDefinitionImpl : public Implementation {
 public:
  const char* name() const override { return "integer_definition"; }
  bool Takes(const Node& node) const override { return node.integers.has_value(); }
  bool TakesZeroPoints(const Node&) const override { return true; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!MultipliesWeights(node)) return context.None("is for layers with weights");
    if (!HaveRanges(context, node)) return {};
    if (!WeightedShapeOf(node, context.graph.values[node.inputs[0]].shape,
                         context.graph.values[node.outputs[0]].shape)) {
      return context.None("has no definition for its shape");
    }
    return InBytes(*this, node, {kPlain});
  }
  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    Require(node.integers && MultipliesWeights(node) && node.inputs.size() == 1 &&
                node.outputs.size() == 1,
            "layer '", node.name(), "' (", node.type(), ") has no weights of integers");
    return std::make_unique<DefinitionStep>(node);
  }
};

}  // namespace

const Implementation& IntegerDefinition() {
  static const IntegerDefinitionImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
