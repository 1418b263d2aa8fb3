// Layers without weights on 8-bit integers, with integers alone.
#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "cpu_target.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

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

class IntegerOperationImpl : public IntegerOperationImplBase {
 public:
  IntegerOperationImpl()
      : IntegerOperationImplBase(
            {kBlocked, kChannelsLast},
            {MakeTableStep, MakeIntegerEltwise, MakeIntegerBroadcast, MakeIntegerPooling,
             MakeIntegerNormalization, MakeIntegerResizing, MakeIntegerMoving}) {}

 private:
  bool TakesLayout(const Graph& graph, const Node& node, Layout::Kind layout) const override {
    if (graph.values[node.outputs[0]].shape.size() < 2) return false;
    switch (KindOf(node)) {
      case IntegerKind::BROADCAST:
        return HasFactorsByChannel(graph, node);
      case IntegerKind::MOVING:
        return JoinsChannels(graph, node) &&
               HaveWholeChannels(graph, node, layout == kChannelsLast ? 1 : ChannelBlock());
      case IntegerKind::DIVISION:
        return NormalizesBlocks(node, graph.values[node.inputs[0]].shape, layout);
      default:
        return true;
    }
  }
};

}  // namespace

const Implementation& IntegerOperation() {
  static const IntegerOperationImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
