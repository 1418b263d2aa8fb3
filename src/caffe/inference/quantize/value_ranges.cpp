#include "value_ranges.hpp"

#include <algorithm>

#include "blob_intervals.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/operation.hpp"
#include "moved_values.hpp"

namespace caffe::inference {
namespace {

/// Its outputs are elements of its inputs.
bool OnlyMoves(const Node& node) {
  if (!node.epilogue.empty()) return false;
  return MovesElements(node) || IsMaxPooling(node);
}

/// Values that an 8-bit layer with weights reads, directly or through layers that move, pool or
/// `rounds`.
std::vector<bool> ReadAsIntegers(const Graph& graph, const std::vector<bool>& integers,
                                 const std::vector<bool>& rounds) {
  std::vector<bool> read(graph.values.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool moves = OnlyMoves(node) || (node.type() == "Pooling" && node.epilogue.empty()) ||
                       (integers[i] && !rounds.empty() && rounds[i]);
    const bool goes_on = moves && std::any_of(node.outputs.begin(), node.outputs.end(),
                                              [&](int output) { return read[output]; });
    const bool multiplies = MultipliesWeights(node) && integers[i];
    for (const int input : ReadInputs(node)) {
      if (goes_on || multiplies) read[input] = true;
    }
  }
  return read;
}

/// Values that share a range. Where the range of one is not known the nodes that move it are left
/// out, so that the others keep theirs.
MovedValues SharingRanges(const Graph& graph, const CalibrationTable& table) {
  std::vector<bool> shares(graph.nodes.size());
  for (size_t i = 0; i < shares.size(); ++i) shares[i] = OnlyMoves(graph.nodes[i]);
  for (;;) {
    MovedValues groups(graph.values.size());
    for (size_t i = 0; i < shares.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (shares[i]) groups.Add(ReadInputs(node), node.outputs, KeepsRange(graph, node));
    }
    const std::vector<bool> without = groups.WithoutRange(graph, table);
    bool changed = false;
    for (size_t i = 0; i < shares.size(); ++i) {
      const std::vector<int> inputs = ReadInputs(graph.nodes[i]);
      const bool unknown =
          std::any_of(inputs.begin(), inputs.end(), [&](int input) { return without[input]; });
      changed = changed || (shares[i] && unknown);
      shares[i] = shares[i] && !unknown;
    }
    if (!changed) return groups;
  }
}

struct Threshold {
  double value = 0;
  bool is_unsigned = true;
};

}  // namespace

std::vector<Range> RangesOf(const Graph& graph, const CalibrationTable& table,
                            const std::vector<bool>& integers, const std::vector<bool>& rounds,
                            bool unsigned_too, QuantizationScheme scheme) {
  MovedValues groups = SharingRanges(graph, table);
  std::vector<Threshold> thresholds(graph.values.size());
  std::vector<Interval> intervals(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const BlobCalibration* found = table.Find(graph.values[i].name);
    if (!found || graph.values[i].is_constant()) continue;
    Threshold& group = thresholds[groups.GroupOf(static_cast<int>(i))];
    group.value = std::max(group.value, found->threshold);
    group.is_unsigned = group.is_unsigned && found->is_unsigned && unsigned_too;
    intervals[groups.GroupOf(static_cast<int>(i))].Include(
        IntervalOf(graph.values[i].name, *found));
  }
  const std::vector<bool> read = ReadAsIntegers(graph, integers, rounds);
  std::vector<Range> ranges(graph.values.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int index = groups.GroupOf(static_cast<int>(i));
    const Threshold& group = thresholds[index];
    if (group.value <= 0 || !read[i] || graph.values[i].is_constant()) {
      continue;
    }
    if (scheme != QuantizationScheme::SYMMETRIC) {
      ranges[i] = RangeOf(intervals[index], scheme);
      continue;
    }
    ranges[i].scale = static_cast<float>(group.value / StepsOf(group.is_unsigned));
    ranges[i].is_unsigned = group.is_unsigned;
  }
  return ranges;
}

}  // namespace caffe::inference
