#ifndef CAFFE_INFERENCE_PASSES_MEMORY_PLAN_HPP_
#define CAFFE_INFERENCE_PASSES_MEMORY_PLAN_HPP_

#include <cstddef>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// A value with memory of its own (views upon it included) and the nodes that run while it has to
/// be there, both ends included.
struct Lifetime {
  int value;  ///< -1: what a node needs for itself
  int first, last;
  size_t bytes;  ///< a multiple of Allocator::kAlignment
};

/// Of all values that are planned: not inputs, outputs and constants, which lie elsewhere, and not
/// those whose shapes depend on the data.
std::vector<Lifetime> Lifetimes(const Graph& graph);
/// And of what each node needs for itself, in bytes.
std::vector<Lifetime> Lifetimes(const Graph& graph, const std::vector<size_t>& scratch);

/// The largest sum of the bytes of values that have to be there at once: no arena is smaller.
size_t LargestLiveBytes(const std::vector<Lifetime>& lifetimes);

/// Bytes from `begin` on that are in use, up to `end`.
struct Stretch {
  size_t begin, end;
  bool operator<(const Stretch& other) const { return begin < other.begin; }
};
/// The first place with room for `bytes` between or behind stretches in the order of their begins,
/// all of whose ends are multiples of what places have to be.
size_t FirstGap(const std::vector<Stretch>& used, size_t bytes);

/// PlanMemory for nodes that need so many bytes each while they run beside their values, so that
/// there is room for them in the arena.
Graph PlanMemory(Graph graph, const std::vector<size_t>& scratch);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_MEMORY_PLAN_HPP_
