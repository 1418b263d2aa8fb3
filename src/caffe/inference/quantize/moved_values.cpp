#include "moved_values.hpp"

#include <algorithm>

#include "caffe/inference/graph/node_facts.hpp"

namespace caffe::inference {

void MovedValues::Add(const std::vector<int>& inputs, const std::vector<int>& outputs, bool keeps) {
  for (const int output : outputs) moved_[output] = true;
  for (const std::vector<int>* values : {&inputs, &outputs}) {
    for (const int value : *values) groups_.Join(value, inputs.empty() ? outputs[0] : inputs[0]);
  }
  if (keeps) keeping_.push_back({inputs, outputs});
}

std::vector<bool> MovedValues::WithoutRange(const Graph& graph, const CalibrationTable& table,
                                            const std::vector<bool>& derived) const {
  std::vector<bool> known(moved_.size());
  for (size_t i = 0; i < known.size(); ++i) {
    known[i] = graph.values[i].is_constant() || table.Find(graph.values[i].name) != nullptr ||
               (!derived.empty() && derived[i]);
  }
  for (auto node = keeping_.rbegin(); node != keeping_.rend(); ++node) {
    const auto is_known = [&](int value) { return known[value]; };
    if (!std::all_of(node->outputs.begin(), node->outputs.end(), is_known)) continue;
    for (const int input : node->inputs) known[input] = true;
  }
  std::vector<bool> without(known.size());
  for (size_t i = 0; i < known.size(); ++i) without[i] = !known[i] && !moved_[i];
  return without;
}

bool KeepsRange(const Graph& graph, const Node& node) {
  if (KeepsElements(node)) return true;
  if (!IsMaxPooling(node)) return false;
  const auto has = [&](const std::vector<int>& values) {
    return std::count(values.begin(), values.end(), node.inputs[0]) > 0;
  };
  const auto reads = [&](const Node& other) { return has(other.inputs); };
  const auto moves_to = [&](const Node& other) {
    return has(other.outputs) && KeepsElements(other);  // what it reads may have other readers
  };
  return !has(graph.outputs) && std::count_if(graph.nodes.begin(), graph.nodes.end(), reads) == 1 &&
         std::none_of(graph.nodes.begin(), graph.nodes.end(), moves_to);
}

}  // namespace caffe::inference
