// Max pooling and a monotone f commute: max(f(x)) = f(max(x)), to the bit, for f = ReLU, ReLU6 or
// Clip. After a layer that can apply f while it writes, f comes first and costs nothing; elsewhere
// pooling comes first and leaves f fewer elements.
#include <utility>

#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/operation.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

bool OnlyTakesMaxima(const Node& node) { return IsMaxPooling(node) && node.epilogue.empty(); }

bool Rises(const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || !node.epilogue.empty()) return false;
  const auto f = ActivationOf(node.layer);
  if (!f) return false;
  using kernels::Activation;
  return (f->kind == Activation::RELU && f->a >= 0) || f->kind == Activation::CLIP ||
         (f->kind == Activation::CLIPPED_RELU && f->b >= 0);
}

/// True if an activation of the value would be fused into the layer that computes it.
bool TakesActivation(const Graph& graph, int value) {
  const int producer = PrivateProducer(graph, value);
  return producer >= 0 && MultipliesWeights(graph.nodes[producer]) &&
         graph.nodes[producer].outputs.size() == 1;
}

}  // namespace

Graph OrderPooling(Graph graph) {
  for (size_t second = 0; second < graph.nodes.size(); ++second) {
    const bool activation_second = Rises(graph.nodes[second]);
    if (!activation_second && !OnlyTakesMaxima(graph.nodes[second])) continue;
    const int middle = graph.nodes[second].inputs[0];
    const int first = PrivateProducer(graph, middle);
    if (first < 0) continue;
    const bool pair =
        activation_second ? OnlyTakesMaxima(graph.nodes[first]) : Rises(graph.nodes[first]);
    if (!pair) continue;
    const int input = graph.nodes[first].inputs[0], output = graph.nodes[second].outputs[0];
    if (TakesActivation(graph, input) != activation_second) continue;
    std::swap(graph.nodes[first].layer, graph.nodes[second].layer);
    // It is none of the net's blobs, whose range or values it would be taken to have.
    graph.values[middle].name =
        NewValueName(graph, graph.values[input].name + "_" + graph.nodes[first].layer.name());
    graph.values[middle].shape = graph.values[activation_second ? input : output].shape;
  }
  return graph;
}

}  // namespace caffe::inference
