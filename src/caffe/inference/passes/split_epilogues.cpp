#include "split_epilogues.hpp"

#include "caffe/inference/graph/weighted_node.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

/// How many of the first steps are computed with the node's sums.
size_t Fused(const Node& node) {
  if (node.integers) return node.epilogue.size();
  if (!MultipliesWeights(node)) return 0;
  Node shorter = node;
  while (!PostOpsOf(shorter) || (shorter.type() == "Deconvolution" && !Activates(shorter))) {
    shorter.epilogue.pop_back();
  }
  return shorter.epilogue.size();
}

/// A value for the step's input, with its former name.
int Before(const Epilogue& step, const Shape& shape, Graph* graph) {
  return graph->AddValue(
      NewValueName(*graph, step.blob.empty() ? "before_" + step.layer.name() : step.blob), shape);
}

/// The step as a node that makes `output` from `input`.
Node NodeOf(const Graph& graph, const Epilogue& step, int input, int output) {
  Node node;
  node.layer = step.layer;
  node.layer.set_name(NewNodeName(graph, step.layer.name()));
  node.layer.set_phase(TEST);
  node.parameters = step.parameters;
  node.inputs = {input};
  if (step.operand >= 0) node.inputs.push_back(step.operand);
  node.outputs = {output};
  return node;
}

}  // namespace

Graph SplitEpilogues(Graph graph) { return SplitEpilogues(std::move(graph), Fused); }

Graph SplitEpilogues(Graph graph, const std::function<size_t(const Node& node)>& fused) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const size_t kept = fused(graph.nodes[i]);
    const std::vector<Epilogue> steps(graph.nodes[i].epilogue.begin() + kept,
                                      graph.nodes[i].epilogue.end());
    if (steps.empty()) continue;
    const int last = graph.nodes[i].outputs[0];
    const Shape shape = graph.values[last].shape;
    int value = Before(steps[0], shape, &graph);
    graph.nodes[i].epilogue.resize(kept);
    graph.nodes[i].outputs[0] = value;
    for (size_t k = 0; k < steps.size(); ++k) {
      const bool ends = k + 1 == steps.size();
      const int next = ends ? last : Before(steps[k + 1], shape, &graph);
      graph.nodes.insert(graph.nodes.begin() + i + 1 + k, NodeOf(graph, steps[k], value, next));
      value = next;
    }
    i += steps.size();
  }
  return graph;
}

}  // namespace caffe::inference
