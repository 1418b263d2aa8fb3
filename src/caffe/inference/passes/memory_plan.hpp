#ifndef CAFFE_INFERENCE_PASSES_MEMORY_PLAN_HPP_
#define CAFFE_INFERENCE_PASSES_MEMORY_PLAN_HPP_

#include <cstddef>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// A value with memory of its own (views of it included) and the nodes that run while it is alive,
/// both ends included.
struct Lifetime {
  int value;  ///< -1: scratch memory of a node
  int first, last;
  size_t bytes;  ///< a multiple of Allocator::kAlignment
};

/// The lifetimes of all values that are planned: not inputs, outputs and constants, which lie
/// elsewhere, and not those whose shapes depend on the data.
std::vector<Lifetime> Lifetimes(const Graph& graph);
/// The same and those of the nodes' scratch memory, in bytes.
std::vector<Lifetime> Lifetimes(const Graph& graph, const std::vector<size_t>& scratch);

/// The largest sum of the bytes of values that are alive at once: a lower bound of the arena.
size_t LargestLiveBytes(const std::vector<Lifetime>& lifetimes);

/// Bytes from `begin` on that are in use, up to `end`.
struct ByteInterval {
  size_t begin, end;
  bool operator<(const ByteInterval& other) const { return begin < other.begin; }
};
/// The first place with room for `bytes` between or after intervals that are sorted by their begins
/// and whose ends are aligned.
size_t FirstGap(const std::vector<ByteInterval>& used, size_t bytes);

enum class ScratchPlace {
  SHARED,  ///< in what values leave free while the node runs, or behind them
  /// Behind all values, where the arena then has room for it, if that costs at most a tenth of the
  /// memory of weights and activations, and 4 MB; else SHARED. What a thread writes there stays in
  /// its core's cache.
  BEHIND_VALUES
};
/// PlanMemory with scratch memory of so many bytes for each node.
Graph PlanMemory(Graph graph, const std::vector<size_t>& scratch,
                 ScratchPlace place = ScratchPlace::BEHIND_VALUES);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_MEMORY_PLAN_HPP_
