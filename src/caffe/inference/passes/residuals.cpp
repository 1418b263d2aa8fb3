// A sum of two blobs becomes the last step of the layer that makes one of them.
#include <utility>

#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"
#include "joinable_input.hpp"

namespace caffe::inference {
namespace {

bool MayBeResidual(const Node& node) {
  return IsSum(node.layer) && node.inputs.size() == 2 && node.epilogue.empty();
}

}  // namespace

int JoinableInput(const Graph& graph, const Node& sum) {
  const std::vector<int> producers = Producers(graph);
  for (int i = 0; i < 2; ++i) {
    const int producer = PrivateProducer(graph, sum.inputs[i]);
    if (producer < 0 || producer < producers[sum.inputs[1 - i]]) continue;
    const Node& node = graph.nodes[producer];
    if (MultipliesWeights(node) && node.outputs.size() == 1) return i;
  }
  return -1;
}

Graph FuseResiduals(Graph graph) {
  for (size_t i = 0; i < graph.nodes.size();) {
    const Node sum = graph.nodes[i];
    const int joined = MayBeResidual(sum) ? JoinableInput(graph, sum) : -1;
    if (joined < 0) {
      ++i;
      continue;
    }
    Epilogue step;
    step.layer = sum.layer;
    step.operand = sum.inputs[1 - joined];
    step.blob = graph.values[sum.inputs[joined]].name;
    auto* coefficients = step.layer.mutable_eltwise_param()->mutable_coeff();
    if (joined == 1 && coefficients->size() == 2) coefficients->SwapElements(0, 1);
    Node& producer = graph.nodes[PrivateProducer(graph, sum.inputs[joined])];
    producer.epilogue.push_back(step);
    producer.outputs[0] = sum.outputs[0];
    RemoveNode(i, &graph);
  }
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
