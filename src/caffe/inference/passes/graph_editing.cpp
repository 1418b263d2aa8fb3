#include "graph_editing.hpp"

#include <algorithm>
#include <utility>

#include "caffe/error.hpp"

namespace caffe::inference {

int PrivateProducer(const Graph& graph, int value) {
  if (graph.IsOutput(value)) return -1;
  // Passes that edit the graph ask for each of its nodes: Readers() and Producers() would list all
  // values each time.
  int producer = -1;
  size_t reads = 0;
  for (size_t i = 0; i < graph.nodes.size() && reads <= 1; ++i) {
    const Node& node = graph.nodes[i];
    reads += std::count(node.inputs.begin(), node.inputs.end(), value);
    reads += std::count_if(node.epilogue.begin(), node.epilogue.end(),
                           [&](const Epilogue& step) { return step.operand == value; });
    const bool makes = std::count(node.outputs.begin(), node.outputs.end(), value) > 0;
    if (makes) producer = static_cast<int>(i);
  }
  return reads == 1 ? producer : -1;
}

bool Merge(int original, int copy, Graph* graph) {
  const auto redirect = [graph](int from, int to) {
    for (Node& node : graph->nodes) {
      std::replace(node.inputs.begin(), node.inputs.end(), from, to);
      for (Epilogue& step : node.epilogue) {
        if (step.operand == from) step.operand = to;
      }
    }
  };
  if (!graph->IsOutput(copy)) {
    redirect(copy, original);
    // In place: the blob's name is that of its newest value.
    std::string& name = graph->values[original].name;
    std::string& newest = graph->values[copy].name;
    if (name.rfind(newest + "_before_", 0) == 0) std::swap(name, newest);
    return true;
  }
  const int producer = Producers(*graph)[original];
  if (producer < 0 || graph->IsOutput(original)) return false;
  std::vector<int>& made = graph->nodes[producer].outputs;
  std::replace(made.begin(), made.end(), original, copy);
  redirect(original, copy);
  return true;
}

void RemoveNodes(const std::vector<bool>& removed, Graph* graph) {
  std::vector<Node> kept;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    if (!removed[i]) kept.push_back(std::move(graph->nodes[i]));
  }
  graph->nodes = std::move(kept);
}

void RemoveNode(int node, Graph* graph) { graph->nodes.erase(graph->nodes.begin() + node); }

Graph WithoutUnusedValues(Graph graph) {
  std::vector<int> index(graph.values.size(), -1);
  const auto use = [&](const std::vector<int>& values) {
    for (const int value : values) index[value] = 0;
  };
  use(graph.inputs);
  use(graph.outputs);
  for (const Node& node : graph.nodes) {
    use(node.Reads());
    use(node.outputs);
  }
  std::vector<Value> kept;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0) continue;
    index[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(kept);
  const auto renumber = [&](std::vector<int>* values) {
    for (int& value : *values) value = index[value];
  };
  renumber(&graph.inputs);
  renumber(&graph.outputs);
  for (Node& node : graph.nodes) {
    renumber(&node.inputs);
    renumber(&node.outputs);
    for (Epilogue& step : node.epilogue) {
      if (step.operand >= 0) step.operand = index[step.operand];
    }
  }
  for (Value& value : graph.values) {
    if (value.view.base >= 0) value.view.base = index[value.view.base];
  }
  return graph;
}

std::string NewValueName(const Graph& graph, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; graph.FindValue(name) >= 0; ++i) name = Join(wanted, "_", i);
  return name;
}

std::string NewNodeName(const Graph& graph, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; graph.FindNode(name) >= 0; ++i) name = Join(wanted, "_", i);
  return name;
}

}  // namespace caffe::inference
