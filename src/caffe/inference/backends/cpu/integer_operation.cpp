// Layers without weights on 8-bit integers, with integers alone.
#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/inference/quantize/integer_operations.hpp"
#include "cpu_target.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

/// True if the channels of all values fill whole
/// blocks, so that no padding comes in between.
bool AreWhole(const Graph& graph, const Node& node) {
  const auto whole = [&](int value) {
    const Shape& shape = graph.values[value].shape;
    return shape.size() >= 3 && shape[1] % ChannelBlock() == 0;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), whole) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), whole);
}

/// True if there is a factor for each image and channel: their blocks match those of the others.
bool HasFactorsByChannel(const Graph& graph, const Node& node) {
  const bool adds = node.type() == "Axpy";
  const Shape& x = graph.values[node.inputs[adds ? 1 : 0]].shape;
  const Shape& a = graph.values[node.inputs[adds ? 0 : 1]].shape;
  return x.size() >= 2 && a.size() >= 2 && a[0] == x[0] && a[1] == x[1] &&
         CountOf({a.begin() + 2, a.end()}) == 1 &&
         (adds || node.layer.scale_param().axis() == 0 ||
          node.layer.scale_param().axis() == -static_cast<int>(x.size()));
}

bool TakesBlocks(const Graph& graph, const Node& node) {
  if (graph.values[node.outputs[0]].shape.size() < 2) return false;
  switch (KindOf(node)) {
    case IntegerKind::BROADCAST:
      return HasFactorsByChannel(graph, node);
    case IntegerKind::MOVING:
      // Upsample moves positions, in every channel alike.
      return node.type() == "Upsample" || (JoinsChannels(graph, node) && AreWhole(graph, node));
    case IntegerKind::DIVISION:
      return NormalizesBlocks(node, graph.values[node.inputs[0]].shape);
    default:
      return true;
  }
}

class IntegerOperationImpl : public Implementation {
 public:
  const char* name() const override { return "integers"; }
  bool Takes(const Node& node) const override { return node.integers.has_value(); }
  bool TakesZeroPoints(const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!ComputesIntegers(node)) return context.None(kNoIntegerOperation);
    if (!HasIntegerRanges(context, node)) return {};
    std::vector<Candidate> candidates = InBytes(*this, node, {kPlain});
    if (TakesBlocks(context.graph, node)) {
      candidates.insert(candidates.begin(), InBytes(*this, node, {kBlocked})[0]);
    }
    return WithShapeInputs(context, node, kBlocked, std::move(candidates));
  }

  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(ComputesIntegers(node), "layer '", node.name(), "' (", node.type(),
            ") has no integer-only form");
    switch (KindOf(node)) {
      case IntegerKind::ELTWISE:
      case IntegerKind::BROADCAST:
        return MakeIntegerElementwise(node);
      case IntegerKind::POOLING:
        return MakeIntegerPooling(node);
      case IntegerKind::DIVISION:
        return MakeIntegerNormalization(node);
      case IntegerKind::RESIZING:
        return MakeIntegerResizing(node);
      case IntegerKind::MOVING:
        return MakeIntegerMoving(graph, node);
      case IntegerKind::TABLE:
        break;
    }
    return MakeTableStep(node);
  }
};

}  // namespace

const Implementation& IntegerOperation() {
  static const IntegerOperationImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
