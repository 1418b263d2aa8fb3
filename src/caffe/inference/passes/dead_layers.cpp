// From the last layer to the first: what no output depends on is not computed.
#include <algorithm>

#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {

Graph RemoveDeadLayers(Graph graph) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (const int output : graph.outputs) wanted[output] = true;
  const auto is_wanted = [&wanted](int value) { return static_cast<bool>(wanted[value]); };
  std::vector<bool> dead(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    // A layer without tops has side effects.
    dead[i] =
        !node.outputs.empty() && std::none_of(node.outputs.begin(), node.outputs.end(), is_wanted);
    if (dead[i]) continue;
    // The mask is computed only where there is a top for it.
    if (node.type() == "Pooling" && node.outputs.size() == 2 && !wanted[node.outputs[1]]) {
      node.outputs.pop_back();
    }
    for (const int read : node.Reads()) wanted[read] = true;
  }
  RemoveNodes(dead, &graph);
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
