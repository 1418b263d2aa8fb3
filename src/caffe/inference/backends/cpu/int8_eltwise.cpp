// Sums, products and maxima of 8-bit integers, rounded once.
#include "byte_step.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/byte_elementwise.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class EltwiseStep : public ByteStep {
 public:
  explicit EltwiseStep(const Node& node) : param_(node.layer.eltwise_param()) {}

  void Bind(const Binding& binding) override {
    ByteStep::Bind(binding);
    for (const Operand& x : x_) {
      Require(x.shape == y_.shape && x.block == y_.block, "its blobs differ in shape");
    }
    Require(param_.coeff_size() == 0 || size_t(param_.coeff_size()) == x_.size(),
            "coefficients are not given once per bottom");
  }

 private:
  void Compute(const std::vector<const void*>& x, void* y, size_t images) override {
    std::vector<kernels::ScaledBytes> bytes;
    for (size_t i = 0; i < x.size(); ++i) {
      const float factor = param_.coeff_size() ? param_.coeff(static_cast<int>(i)) : 1;
      bytes.push_back({x[i], x_[i].type == ElementType::UINT8, factor * x_[i].scale});
    }
    const auto combination =
        param_.operation() == EltwiseParameter_EltwiseOp_SUM    ? kernels::Combination::SUM
        : param_.operation() == EltwiseParameter_EltwiseOp_PROD ? kernels::Combination::PRODUCT
                                                                : kernels::Combination::MAXIMUM;
    DispatchInteger(y_.type, [&](auto tag) {
      kernels::CombineBytes(combination, images * y_.image, bytes, 1 / y_.scale,
                            static_cast<decltype(tag)*>(y));
    });
  }

  const EltwiseParameter& param_;
};

bool IsEltwise(const Graph& graph, const Node& node) {
  if (node.type() != "Eltwise" || !node.epilogue.empty() || node.inputs.empty() ||
      node.outputs.size() != 1) {
    return false;
  }
  for (const int input : node.inputs) {
    if (graph.values[input].is_constant()) return false;
  }
  return true;
}

class Int8EltwiseImpl : public Implementation {
 public:
  const char* name() const override { return "int8_eltwise"; }
  bool RoundsInputs(const Graph& graph, const Node& node) const override {
    return IsEltwise(graph, node);
  }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsEltwise(context.graph, node)) return context.None("is for Eltwise without constants");
    if (!HaveRanges(context, node)) return {};
    if (context.graph.values[node.outputs[0]].shape.size() < 2)
      return InBytes(*this, node, {kPlain});
    return InBytes(*this, node, {kBlocked, kChannelsLast, kPlain});
  }
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(IsEltwise(graph, node), "layer '", node.name(), "' (", node.type(), ") is no Eltwise");
    return std::make_unique<EltwiseStep>(node);
  }
};

}  // namespace

const Implementation& Int8Eltwise() {
  static const Int8EltwiseImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
