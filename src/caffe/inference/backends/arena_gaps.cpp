#include "arena_gaps.hpp"

#include <algorithm>

#include "../passes/memory_plan.hpp"
#include "caffe/allocator.hpp"

namespace caffe {
namespace inference {

ArenaGaps::ArenaGaps(const Graph& graph) : used_(graph.nodes.size()) {
  for (const Lifetime& lifetime : Lifetimes(graph)) {
    const int64_t offset = graph.values[lifetime.value].arena_offset;
    if (offset < 0) continue;
    for (int node = lifetime.first; node <= lifetime.last; ++node) {
      used_[node].push_back({size_t(offset), size_t(offset) + lifetime.bytes});
    }
  }
  for (std::vector<Stretch>& stretches : used_) {
    std::sort(stretches.begin(), stretches.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  }
}

size_t ArenaGaps::Find(size_t node, size_t bytes) const {
  constexpr size_t kUnit = Allocator::kAlignment;
  size_t begin = 0;
  for (const Stretch& used : used_[node]) {
    if (begin + bytes <= used.begin) break;
    begin = std::max(begin, (used.end + kUnit - 1) / kUnit * kUnit);
  }
  return begin;
}

}  // namespace inference
}  // namespace caffe
