#include "moved_values.hpp"

#include <algorithm>

namespace caffe::inference {

void MovedValues::Add(const std::vector<int>& inputs, const std::vector<int>& outputs, bool keeps) {
  for (const int output : outputs) moved_[output] = true;
  for (const std::vector<int>* values : {&inputs, &outputs}) {
    for (const int value : *values) groups_.Join(value, inputs.empty() ? outputs[0] : inputs[0]);
  }
  if (keeps) keeping_.push_back({inputs, outputs});
}

std::vector<bool> MovedValues::WithoutRange(const Graph& graph,
                                            const CalibrationTable& table) const {
  std::vector<bool> known(moved_.size());
  for (size_t i = 0; i < known.size(); ++i) {
    known[i] = graph.values[i].is_constant() || table.Find(graph.values[i].name) != nullptr;
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

}  // namespace caffe::inference
