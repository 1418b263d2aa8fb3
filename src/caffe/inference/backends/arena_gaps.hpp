#ifndef CAFFE_INFERENCE_BACKENDS_ARENA_GAPS_HPP_
#define CAFFE_INFERENCE_BACKENDS_ARENA_GAPS_HPP_

#include <cstddef>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/inference/passes/memory_plan.hpp"

namespace caffe::inference {

/// The free parts of a graph's arena while a node runs: room for its scratch memory.
class ArenaGaps {
 public:
  /// The gaps of a graph whose memory is planned.
  explicit ArenaGaps(const Graph& graph);

  /// The first aligned offset (Allocator::kAlignment) with `bytes` free bytes while the node runs;
  /// they may extend beyond the arena.
  size_t Find(size_t node, size_t bytes) const;
  /// Behind all values, if the arena has so many bytes there; else that.
  size_t Place(size_t node, size_t bytes) const;

 private:
  std::vector<std::vector<ByteInterval>> used_;  // of each node, in the order of their begins
  size_t end_ = 0;                               // of all values
  const size_t arena_bytes_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_ARENA_GAPS_HPP_
