#include "pooling_node.hpp"

#include "caffe/error.hpp"
#include "element_types.hpp"

namespace caffe::inference {

std::vector<Candidate> PoolingImplBase::Candidates(const LoweringContext& context,
                                                   const Node& node) const {
  if (node.type() != "Pooling") return context.None("is for Pooling");
  if (node.outputs.size() != 1 || !node.epilogue.empty() ||
      node.layer.pooling_param().pool() == PoolingParameter_PoolMethod_STOCHASTIC ||
      CountOf(context.graph.values[node.inputs[0]].shape) == 0) {
    return context.None("is for maxima and means, with one top");
  }
  std::vector<Candidate> candidates;
  const auto add = [&](ElementType type) {
    for (const Layout::Kind layout : layouts_) {
      candidates.push_back(Formats(*this, node, type, {type, layout}, {type, layout}));
    }
  };
  for (const ElementType type : kFloatTypes) {
    if (context.Stores(type)) add(type);
  }
  // The kernel's sign is that of both; maxima have their bottom's scale (value_ranges.hpp).
  const Range &x = context.ranges[node.inputs[0]], &y = context.ranges[node.outputs[0]];
  if (context.Stores(ElementType::INT8) && x.known() && y.known() &&
      x.is_unsigned == y.is_unsigned) {
    add(ElementType::INT8);
  }
  return candidates;
}

std::unique_ptr<Step> PoolingImplBase::Make(const Graph& graph, const Node& node) const {
  Require(node.type() == "Pooling" && node.inputs.size() == 1 && node.outputs.size() == 1,
          "layer '", node.name(), "' (", node.type(), ") is not a pooling with one top");
  return MakeStep(node, graph.values[node.outputs[0]].layout);
}

}  // namespace caffe::inference
