// Convolution + bias + ReLU in one, likewise the other activations and layers with weights.
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

bool IsActivation(const Node& node) {
  return PostOpOf(node.layer) && node.inputs.size() == 1 && node.outputs.size() == 1 &&
         node.epilogue.empty();
}

}  // namespace

Graph FuseActivations(Graph graph) {
  for (size_t i = 0; i < graph.nodes.size();) {
    const Node& node = graph.nodes[i];
    const int producer = IsActivation(node) ? PrivateProducer(graph, node.inputs[0]) : -1;
    if (producer < 0 || !MultipliesWeights(graph.nodes[producer]) ||
        graph.nodes[producer].outputs.size() != 1) {
      ++i;
      continue;
    }
    graph.nodes[producer].epilogue.push_back(
        {node.layer, node.parameters, -1, graph.values[node.inputs[0]].name});
    graph.nodes[producer].outputs[0] = node.outputs[0];
    RemoveNode(i, &graph);
  }
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
