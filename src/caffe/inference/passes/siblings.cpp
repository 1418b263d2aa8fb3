#include "siblings.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "caffe/inference/graph/node_facts.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

/// The layer's parameters without the fields that may differ.
std::string Kind(const LayerParameter& layer) {
  LayerParameter kind = layer;
  kind.clear_name();
  kind.clear_param();
  if (kind.has_convolution_param()) {
    ConvolutionParameter* param = kind.mutable_convolution_param();
    param->clear_num_output();
    param->clear_bias_term();
    param->clear_weight_filler();
    param->clear_bias_filler();
  }
  return kind.SerializeAsString();
}

bool IsMergeable(const Graph& graph, const Node& node) {
  if (node.type() != "Convolution" || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      !node.siblings.empty()) {
    return false;
  }
  const ConvolutionParameter& param = node.layer.convolution_param();
  const size_t axes = graph.values[node.inputs[0]].shape.size();
  if (param.group() != 1 || !IsChannelAxis(param.axis(), axes)) return false;
  for (const Epilogue& step : node.epilogue) {
    if (step.operand >= 0 || !step.parameters.empty()) return false;
  }
  return true;
}

/// What siblings have in common.
std::string KindOf(const Node& node) {
  std::string kind = std::to_string(node.inputs[0]) + ":" + Kind(node.layer);
  for (const Epilogue& step : node.epilogue) kind += "+" + Kind(step.layer);
  return kind;
}

/// Parameter number `index` of all nodes one after another along axis 0; zeros where a node has no
/// bias.
Constant Joined(const std::vector<Node>& nodes, size_t index) {
  std::vector<float> values;
  Shape shape;
  int outputs = 0;
  for (const Node& node : nodes) {
    const int own = static_cast<int>(node.layer.convolution_param().num_output());
    outputs += own;
    if (index >= node.parameters.size()) {
      values.resize(values.size() + own, 0.f);
      continue;
    }
    const std::vector<float> part = node.parameters[index].ToVector();
    values.insert(values.end(), part.begin(), part.end());
    shape = node.parameters[index].shape;
  }
  shape[0] = outputs;
  return Constant::Of(shape, std::move(values));
}

/// Replaces the first of these nodes by a convolution and a Slice.
void MergeNodes(const std::vector<int>& indices, Graph* graph) {
  std::vector<Node> nodes;
  std::vector<std::string> siblings;
  std::string names, value_names;
  for (const int index : indices) {
    nodes.push_back(graph->nodes[index]);
    names += (names.empty() ? "" : "+") + nodes.back().name();
    siblings.push_back(nodes.back().name());
    value_names += (value_names.empty() ? "" : "+") + graph->values[nodes.back().outputs[0]].name;
  }
  Node merged = nodes[0];
  Node slice;
  const bool bias = std::any_of(nodes.begin(), nodes.end(),
                                [](const Node& node) { return node.parameters.size() > 1; });
  merged.parameters = {Joined(nodes, 0)};
  if (bias) merged.parameters.push_back(Joined(nodes, 1));
  const int outputs = merged.parameters[0].shape[0];
  ConvolutionParameter* param = merged.layer.mutable_convolution_param();
  param->set_num_output(outputs);
  param->set_bias_term(bias);
  merged.layer.clear_param();
  merged.layer.set_name(NewNodeName(*graph, names));
  merged.siblings = siblings;
  Shape shape = graph->values[nodes[0].outputs[0]].shape;
  shape[1] = outputs;
  merged.outputs = {graph->AddValue(NewValueName(*graph, value_names), shape)};

  slice.layer.set_name(NewNodeName(*graph, names + "_slice"));
  slice.layer.set_type("Slice");
  slice.layer.set_phase(TEST);
  slice.layer.mutable_slice_param()->set_axis(1);
  slice.inputs = merged.outputs;
  int channel = 0;
  for (const Node& node : nodes) {
    if (channel > 0) slice.layer.mutable_slice_param()->add_slice_point(channel);
    channel += node.layer.convolution_param().num_output();
    slice.outputs.push_back(node.outputs[0]);
  }

  std::vector<bool> removed(graph->nodes.size() + 2, false);
  for (const int index : indices) removed[index + 2] = true;
  graph->nodes.insert(graph->nodes.begin() + indices[0], {merged, slice});
  RemoveNodes(removed, graph);
}

/// Siblings, and the range that the outputs of all of them share.
struct Family {
  std::vector<int> nodes;
  bool has_range = false;
  double least = 0, most = 0;
  double narrowest = 0;  // width of a member's range

  double width() const { return most - least; }

  /// Adds the members of another one unless any would lose more than one of its 8 bits.
  bool Join(const Family& other) {
    if (has_range != other.has_range) return false;
    Family both = *this;
    both.nodes.insert(both.nodes.end(), other.nodes.begin(), other.nodes.end());
    both.least = std::min(least, other.least);
    both.most = std::max(most, other.most);
    both.narrowest = std::min(narrowest, other.narrowest);
    if (both.width() > 2 * both.narrowest) return false;
    *this = both;
    return true;
  }
};

Family FamilyOf(int node, const std::string& output, const ValueBounds& bounds) {
  Family family;
  family.nodes = {node};
  const auto found = bounds.find(output);
  if (found == bounds.end()) return family;
  family.has_range = true;
  std::tie(family.least, family.most) = found->second;
  family.narrowest = family.width();
  return family;
}

/// Merges the first siblings that there are.
bool MergeSome(const ValueBounds& bounds, Graph* graph) {
  std::map<std::string, std::vector<Family>> kinds;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node& node = graph->nodes[i];
    if (!IsMergeable(*graph, node)) continue;
    std::vector<Family>& families = kinds[KindOf(node)];
    const Family alone = FamilyOf(static_cast<int>(i), graph->values[node.outputs[0]].name, bounds);
    const bool joined = std::any_of(families.begin(), families.end(),
                                    [&](Family& family) { return family.Join(alone); });
    if (!joined) families.push_back(alone);
  }
  for (const auto& kind : kinds) {
    for (const Family& family : kind.second) {
      if (family.nodes.size() < 2) continue;
      MergeNodes(family.nodes, graph);
      return true;
    }
  }
  return false;
}

}  // namespace

Graph MergeSiblings(Graph graph, const ValueBounds& bounds) {
  while (MergeSome(bounds, &graph)) {
  }
  return graph;
}

Graph MergeSiblings(Graph graph) { return MergeSiblings(std::move(graph), {}); }

}  // namespace caffe::inference
