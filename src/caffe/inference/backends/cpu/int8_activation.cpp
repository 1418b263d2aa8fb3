// An activation by itself, from 8-bit integers to 8-bit integers: a table of 256 entries, rounded
// once.

#include "byte_step.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/byte_elementwise.hpp"
#include "caffe/kernels/pointwise.hpp"
#include "caffe/kernels/quantize.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kBytes = 256;

class ActivationStep : public ByteStep {
 public:
  explicit ActivationStep(NodePostOps function) : function_(std::move(function)) {}

  void Bind(const Binding& binding) override {
    ByteStep::Bind(binding);
    Require(x_[0].shape == y_.shape && y_.shape.size() >= 2, "its blobs differ in shape");
    by_channel_ = !function_.slopes.empty();
    const size_t tables = by_channel_ ? y_.shape[1] : 1;
    Require(!by_channel_ || function_.slopes.size() >= tables, "it has slopes for other channels");
    std::vector<float> values(tables * kBytes);
    for (size_t t = 0; t < tables; ++t) {
      for (size_t i = 0; i < kBytes; ++i) {
        const int byte =
            x_[0].type == ElementType::UINT8 ? static_cast<int>(i) : static_cast<int8_t>(i);
        values[t * kBytes + i] = x_[0].scale * static_cast<float>(byte);
      }
    }
    kernels::ActivateInPlace(1, tables, kBytes, 1, function_.activation(), values.data());
    tables_.resize(values.size());
    DispatchInteger(y_.type, [&](auto tag) {
      using Q = decltype(tag);
      kernels::Quantize(values.size(), 1 / y_.scale, values.data(),
                        reinterpret_cast<Q*>(tables_.data()));
    });
  }

 private:
  void Compute(const std::vector<const void*>& x, void* y, size_t images) override {
    kernels::LookUpBytes(images, y_.shape[1], positions(), y_.block, by_channel_, tables_.data(),
                         static_cast<const uint8_t*>(x[0]), static_cast<uint8_t*>(y));
  }

  const NodePostOps function_;
  bool by_channel_ = false;
  std::vector<uint8_t> tables_;
};

std::optional<NodePostOps> FunctionOf(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || graph.values[node.inputs[0]].shape.size() < 2) return {};
  return ActivationOfNode(node, graph.values[node.inputs[0]].shape[1]);
}

class Int8ActivationImpl : public Implementation {
 public:
  const char* name() const override { return "int8_activation"; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!FunctionOf(context.graph, node))
      return context.None("is for activations of blobs with channels");
    if (!HaveRanges(context, node)) return {};
    return InBytes(*this, node, {kBlocked, kChannelsLast, kPlain});
  }
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    auto function = FunctionOf(graph, node);
    Require(function.has_value(), "layer '", node.name(), "' (", node.type(),
            ") is not an activation of one bottom");
    return std::make_unique<ActivationStep>(std::move(*function));
  }
};

}  // namespace

const Implementation& Int8Activation() {
  static const Int8ActivationImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
