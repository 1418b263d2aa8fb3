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

  /// The outputs consist of numbers of the inputs. In the order of the nodes.
  void Add(const std::vector<int>& inputs, const std::vector<int>& outputs);

  /// The group's representative.
  int GroupOf(int value) { return groups_.Of(value); }

  /// Per group, by its representative: a value that the ranges of the others do not cover, as it
  /// has none in the table and is neither made of the others nor wholly in one that has; else -1.
  std::vector<int> ValuesWithoutRange(const Graph& graph, const CalibrationTable& table);

 private:
  struct Move {
    std::vector<int> inputs, outputs;
  };
  Groups groups_;
  std::vector<bool> moved_;  // to this value
  std::vector<Move> moves_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_MOVED_VALUES_HPP_
