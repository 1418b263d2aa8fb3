// An activation of a Concat equals the Concat of the activated parts, to the bit: f(a, b) = f(a),
// f(b). Where layers with weights compute all parts, they apply it while they write.
#include <set>

#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

/// The same for every element, wherever it lies.
bool IsUniformActivation(const Node& node) {
  const auto activation = PostOpOf(node.layer);
  return activation && activation->kind != kernels::Activation::PRELU && node.inputs.size() == 1 &&
         node.outputs.size() == 1 && node.epilogue.empty();
}

/// No other node reads its parts, and layers with weights compute them.
bool JoinsWhatLayersMake(const Graph& graph, const Node& node) {
  if (node.type() != "Concat" || !node.epilogue.empty()) return false;
  std::set<int> parts;
  for (const int part : node.inputs) {
    const int producer = PrivateProducer(graph, part);
    if (producer < 0 || !MultipliesWeights(graph.nodes[producer]) ||
        graph.nodes[producer].outputs.size() != 1 || !parts.insert(part).second) {
      return false;
    }
  }
  return true;
}

}  // namespace

Graph OrderConcat(Graph graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!IsUniformActivation(graph.nodes[i])) continue;
    const int joined = graph.nodes[i].inputs[0];
    const int concat = PrivateProducer(graph, joined);
    if (concat < 0 || !JoinsWhatLayersMake(graph, graph.nodes[concat])) continue;
    const Node activation = graph.nodes[i];
    const std::vector<int> parts = graph.nodes[concat].inputs;
    graph.nodes[concat].outputs[0] = activation.outputs[0];
    std::vector<Node> before;
    for (size_t k = 0; k < parts.size(); ++k) {
      const Value& part = graph.values[parts[k]];
      Node node = activation;
      node.layer.set_name(NewNodeName(graph, activation.name() + " of " + part.name));
      node.inputs = {parts[k]};
      node.outputs = {
          graph.AddValue(NewValueName(graph, activation.name() + " of " + part.name), part.shape)};
      graph.nodes[concat].inputs[k] = node.outputs[0];
      before.push_back(std::move(node));
    }
    RemoveNode(static_cast<int>(i), &graph);
    graph.nodes.insert(graph.nodes.begin() + concat, before.begin(), before.end());
    i += before.size() - 1;
  }
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
