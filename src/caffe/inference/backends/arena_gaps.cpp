#include "arena_gaps.hpp"

#include <algorithm>

namespace caffe::inference {

ArenaGaps::ArenaGaps(const Graph& graph)
    : used_(graph.nodes.size()), arena_bytes_(graph.arena_bytes) {
  for (const Lifetime& lifetime : Lifetimes(graph)) {
    const int64_t offset = graph.values[lifetime.value].arena_offset;
    if (offset < 0) continue;
    end_ = std::max(end_, size_t(offset) + lifetime.bytes);
    for (int node = lifetime.first; node <= lifetime.last; ++node) {
      used_[node].push_back({size_t(offset), size_t(offset) + lifetime.bytes});
    }
  }
  for (std::vector<ByteInterval>& intervals : used_) std::sort(intervals.begin(), intervals.end());
}

size_t ArenaGaps::Find(size_t node, size_t bytes) const { return FirstGap(used_[node], bytes); }

size_t ArenaGaps::Place(size_t node, size_t bytes) const {
  return end_ + bytes <= arena_bytes_ ? end_ : Find(node, bytes);
}

}  // namespace caffe::inference
