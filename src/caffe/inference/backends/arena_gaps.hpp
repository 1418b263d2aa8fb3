#ifndef CAFFE_INFERENCE_BACKENDS_ARENA_GAPS_HPP_
#define CAFFE_INFERENCE_BACKENDS_ARENA_GAPS_HPP_

#include <cstddef>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/inference/passes/memory_plan.hpp"

namespace caffe::inference {

/// Where a graph's arena is free while a node runs: room for what the node alone needs.
class ArenaGaps {
 public:
  /// Of a graph whose memory is planned.
  explicit ArenaGaps(const Graph& graph);

  /// The first offset, a multiple of Allocator::kAlignment, from which on `bytes` bytes are free
  /// while the node runs; they may end behind the arena.
  size_t Find(size_t node, size_t bytes) const;

 private:
  std::vector<std::vector<Stretch>> used_;  // of each node, in the order of their begins
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_ARENA_GAPS_HPP_
