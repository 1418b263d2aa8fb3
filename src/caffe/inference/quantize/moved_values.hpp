#ifndef CAFFE_INFERENCE_QUANTIZE_MOVED_VALUES_HPP_
#define CAFFE_INFERENCE_QUANTIZE_MOVED_VALUES_HPP_

#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/graph.hpp"
#include "groups.hpp"

namespace caffe::inference {

/// Groups of a graph's values that share one range, since nodes only move numbers between them.
class MovedValues {
 public:
  explicit MovedValues(size_t values) : groups_(values), moved_(values, false) {}

  /// The outputs' numbers are within the inputs' range, as the node moves, pools or interpolates
  /// these; `keeps`: KeepsRange. In the order of the nodes.
  void Add(const std::vector<int>& inputs, const std::vector<int>& outputs, bool keeps);

  /// The group's representative.
  int GroupOf(int value) { return groups_.Of(value); }

  /// Per value: its range is not known. It has none in the table, is not made of others in its
  /// group, and no other that has one holds all of its numbers. `derived`: values that have one
  /// without being in the table; none if it is empty.
  std::vector<bool> WithoutRange(const Graph& graph, const CalibrationTable& table,
                                 const std::vector<bool>& derived = {}) const;

 private:
  struct Keeping {
    std::vector<int> inputs, outputs;
  };
  Groups groups_;
  std::vector<bool> moved_;  // to this value
  std::vector<Keeping> keeping_;
};

/// True if the range of the node's outputs does for its inputs, too: their numbers are all among
/// the outputs', or only the largest of them matter, as they go to the maxima of a pooling alone.
bool KeepsRange(const Graph& graph, const Node& node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_MOVED_VALUES_HPP_
