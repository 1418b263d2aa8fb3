// Layers whose tops are their bottom in the TEST phase: readers read the bottom instead.
#include "caffe/inference/graph/test_identity.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

bool IsIdentity(const Node& node) {
  if (node.inputs.size() != 1 || !node.epilogue.empty()) return false;
  const std::string& type = node.type();
  if (type == "Split") return true;
  if (type == "Concat" || (type == "Slice" && node.outputs.size() == 1)) return true;
  return IsTestIdentity(node.layer);
}

}  // namespace

Graph RemoveIdentities(Graph graph) {
  for (size_t i = 0; i < graph.nodes.size();) {
    bool removed = graph.nodes[i].type() == "Silence";
    if (IsIdentity(graph.nodes[i])) {
      std::vector<int> kept;
      for (const int output : graph.nodes[i].outputs) {
        if (!Merge(graph.nodes[i].inputs[0], output, &graph)) kept.push_back(output);
      }
      graph.nodes[i].outputs = kept;
      removed = kept.empty();
    }
    if (removed) {
      RemoveNode(i, &graph);
    } else {
      ++i;
    }
  }
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
