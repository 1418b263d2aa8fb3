#include "moved_values.hpp"

#include <algorithm>

namespace caffe::inference {

void MovedValues::Add(const std::vector<int>& inputs, const std::vector<int>& outputs) {
  for (const int output : outputs) moved_[output] = true;
  for (const std::vector<int>* values : {&inputs, &outputs}) {
    for (const int value : *values) groups_.Join(value, inputs.empty() ? outputs[0] : inputs[0]);
  }
  moves_.push_back({inputs, outputs});
}

std::vector<int> MovedValues::ValuesWithoutRange(const Graph& graph,
                                                 const CalibrationTable& table) {
  std::vector<bool> covered(moved_.size());
  for (size_t i = 0; i < covered.size(); ++i) {
    covered[i] = graph.values[i].is_constant() || table.Find(graph.values[i].name) != nullptr;
  }
  for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) {
    const auto is_covered = [&](int value) { return covered[value]; };
    if (!std::all_of(move->outputs.begin(), move->outputs.end(), is_covered)) continue;
    for (const int input : move->inputs) covered[input] = true;
  }
  std::vector<int> without(covered.size(), -1);
  for (size_t i = 0; i < covered.size(); ++i) {
    const int value = static_cast<int>(i);
    if (!covered[i] && !moved_[i]) without[GroupOf(value)] = value;
  }
  return without;
}

}  // namespace caffe::inference
