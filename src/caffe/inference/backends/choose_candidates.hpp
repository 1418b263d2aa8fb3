#ifndef CAFFE_INFERENCE_BACKENDS_CHOOSE_CANDIDATES_HPP_
#define CAFFE_INFERENCE_BACKENDS_CHOOSE_CANDIDATES_HPP_

#include <functional>
#include <vector>

#include "implementation.hpp"

namespace caffe::inference {

/// What combinations of candidates are compared by.
struct CandidateCosts {
  /// The costs of each node: one for each of its candidates, of which it has one or more.
  std::vector<std::vector<double>> nodes;
  /// The cost of changing a value's format; called once for each value and pair of different
  /// formats that is compared.
  std::function<double(int value, const Format& from, const Format& to)> reorder;
};

/// The index of a candidate for each node, so that the sum of their costs and of those of all
/// reorders is small: inputs and outputs of the graph are FLOAT in Caffe's order, and a value is
/// reordered once to each other format in which it is read.
///
/// A local search, the same one for the same costs: from each node's cheapest candidate, and from
/// all nodes with their outputs in one of the `preferred` formats where they can, one node, or a
/// node and what makes its bottom, is changed at a time until nothing gets better. The best of
/// these is then tried with runs of nodes, in the order of the graph, in one preferred format.
/// `cost`, unless it is null, becomes the sum.
std::vector<int> ChooseCandidates(const Graph& graph,
                                  const std::vector<std::vector<Candidate>>& candidates,
                                  const std::vector<Format>& preferred, const CandidateCosts& costs,
                                  double* cost = nullptr);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_CHOOSE_CANDIDATES_HPP_
