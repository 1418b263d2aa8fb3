#ifndef CAFFE_INFERENCE_EVALUATION_REORDERS_HPP_
#define CAFFE_INFERENCE_EVALUATION_REORDERS_HPP_

#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// The value that a value is a copy of in another type or layout, behind all reorders; itself where
/// there is none. `producers` are Producers(graph).
inline int BehindReorders(const Graph& graph, const std::vector<int>& producers, int value) {
  while (producers[value] >= 0 && graph.nodes[producers[value]].type() == kReorder) {
    value = graph.nodes[producers[value]].inputs[0];
  }
  return value;
}

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_EVALUATION_REORDERS_HPP_
