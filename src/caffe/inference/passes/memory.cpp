// Places values in one block of memory, so that those alive at once do not overlap. The problem
// (dynamic storage allocation) is NP-hard; greedy placement, the largest first, comes close to the
// lower bound. Of several orders the best is taken.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "caffe/allocator.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "memory_plan.hpp"

namespace caffe::inference {

std::vector<Lifetime> Lifetimes(const Graph& graph) {
  const std::vector<bool> dependent = HaveDataDependentShapes(graph);
  const int never = std::numeric_limits<int>::max();
  std::vector<int> first(graph.values.size(), never), last(graph.values.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (IsFree(graph, node)) continue;
    std::vector<int> touched = node.Reads();
    touched.insert(touched.end(), node.outputs.begin(), node.outputs.end());
    for (const int value : touched) {
      const int root = RootOf(graph, value);
      first[root] = std::min(first[root], static_cast<int>(i));
      last[root] = std::max(last[root], static_cast<int>(i));
    }
  }
  std::vector<Lifetime> lifetimes;
  const std::vector<int> producers = Producers(graph);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (last[i] < 0 || producers[i] < 0 || dependent[i] || graph.IsOutput(i)) continue;
    const size_t bytes = kernels::RoundUp(BytesOf(value), Allocator::kAlignment);
    lifetimes.push_back({static_cast<int>(i), first[i], last[i], bytes});
  }
  return lifetimes;
}

std::vector<Lifetime> Lifetimes(const Graph& graph, const std::vector<size_t>& scratch) {
  std::vector<Lifetime> lifetimes = Lifetimes(graph);
  for (size_t i = 0; i < scratch.size(); ++i) {
    const int node = static_cast<int>(i);
    if (scratch[i] == 0) continue;
    lifetimes.push_back({-1, node, node, kernels::RoundUp(scratch[i], Allocator::kAlignment)});
  }
  return lifetimes;
}

size_t FirstGap(const std::vector<ByteInterval>& used, size_t bytes) {
  size_t begin = 0;
  for (const ByteInterval& interval : used) {
    if (begin + bytes <= interval.begin) break;
    begin = std::max(begin, interval.end);
  }
  return begin;
}

size_t LargestLiveBytes(const std::vector<Lifetime>& lifetimes) {
  size_t largest = 0;
  for (const Lifetime& at : lifetimes) {
    size_t live = 0;
    for (const Lifetime& other : lifetimes) {
      if (other.first <= at.first && at.first <= other.last) live += other.bytes;
    }
    largest = std::max(largest, live);
  }
  return largest;
}

namespace {

struct Placement {
  std::vector<size_t> offsets;  // of each lifetime
  size_t bytes = 0;
};

/// Places the lifetimes in this order, each in the smallest gap that holds it between those already
/// there at the same time, else behind them.
Placement Place(const std::vector<Lifetime>& lifetimes, const std::vector<int>& order) {
  Placement placement;
  placement.offsets.resize(lifetimes.size());
  std::vector<int> by_offset;  // placed ones
  for (const int index : order) {
    const Lifetime& lifetime = lifetimes[index];
    size_t end = 0, best = 0, best_gap = std::numeric_limits<size_t>::max();
    for (const int other : by_offset) {
      const Lifetime& placed = lifetimes[other];
      if (placed.last < lifetime.first || lifetime.last < placed.first) continue;
      const size_t begin = placement.offsets[other];
      if (begin >= end + lifetime.bytes && begin - end < best_gap) {
        best = end;
        best_gap = begin - end;
      }
      end = std::max(end, begin + placed.bytes);
    }
    if (best_gap == std::numeric_limits<size_t>::max()) best = end;
    placement.offsets[index] = best;
    placement.bytes = std::max(placement.bytes, best + lifetime.bytes);
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), best,
                                      [&](size_t offset, int other) {
                                        return offset < placement.offsets[other];
                                      }),
                     index);
  }
  return placement;
}

/// Moves each down to the first gap that holds it, the lowest first, so that the free memory is
/// contiguous at the end, where nodes may have their scratch memory.
void Compact(const std::vector<Lifetime>& lifetimes, Placement* placement) {
  std::vector<size_t>& offsets = placement->offsets;
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return offsets[a] < offsets[b]; });
  placement->bytes = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const Lifetime& lifetime = lifetimes[order[i]];
    std::vector<ByteInterval> used;
    for (size_t k = 0; k < order.size(); ++k) {
      const Lifetime& other = lifetimes[order[k]];
      if (k == i || other.last < lifetime.first || lifetime.last < other.first) continue;
      used.push_back({offsets[order[k]], offsets[order[k]] + other.bytes});
    }
    std::sort(used.begin(), used.end());
    const size_t begin = FirstGap(used, lifetime.bytes);
    offsets[order[i]] = begin;
    placement->bytes = std::max(placement->bytes, begin + lifetime.bytes);
  }
}

Placement BestPlacement(const std::vector<Lifetime>& lifetimes) {
  const size_t bound = LargestLiveBytes(lifetimes);
  std::vector<int> all(lifetimes.size());
  std::iota(all.begin(), all.end(), 0);
  const auto sorted = [&](auto key) {
    std::vector<int> order = all;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return key(lifetimes[a]) > key(lifetimes[b]); });
    return order;
  };
  std::vector<int> order = sorted([](const Lifetime& l) { return l.bytes; });
  Placement best = Place(lifetimes, order);
  const auto attempt = [&](const std::vector<int>& other) {
    Placement placement = Place(lifetimes, other);
    if (placement.bytes > best.bytes) return;  // equally good ones help to leave a plateau
    best = std::move(placement);
    order = other;
  };
  attempt(sorted([](const Lifetime& l) { return l.bytes * (l.last - l.first + 1); }));
  attempt(sorted([](const Lifetime& l) { return -static_cast<double>(l.first); }));
  // Then variants of the best order with two entries exchanged, the same ones for the same graph:
  // more of them if it is still a tenth above the bound.
  std::mt19937 random(1);
  constexpr int kAttempts = 1000, kMaxAttempts = 20 * kAttempts;
  const auto ends = [&](int attempts) {
    return best.bytes <= bound || attempts == kMaxAttempts ||
           (attempts >= kAttempts && best.bytes <= bound + bound / 10);
  };
  for (int i = 0; !ends(i); ++i) {
    std::vector<int> other = order;
    std::swap(other[random() % other.size()], other[random() % other.size()]);
    attempt(other);
  }
  return best;
}

}  // namespace

Graph PlanMemory(Graph graph) { return PlanMemory(std::move(graph), {}, ScratchPlace::SHARED); }

Graph PlanMemory(Graph graph, const std::vector<size_t>& scratch, ScratchPlace place) {
  for (Value& value : graph.values) value.arena_offset = -1;
  const std::vector<Lifetime> values = Lifetimes(graph), all = Lifetimes(graph, scratch);
  size_t behind = 0;
  for (const size_t bytes : scratch) {
    behind = std::max(behind, kernels::RoundUp(bytes, Allocator::kAlignment));
  }
  Placement placement = BestPlacement(values), shared;
  bool shares = false;
  if (behind > 0) {
    // What it may cost: a part of what the engine takes, and little for each of many contexts.
    constexpr size_t kShare = 10, kMost = 4 << 20;
    shared = BestPlacement(all);
    const size_t more = std::min(kMost, (WeightBytes({&graph}) + shared.bytes) / kShare);
    shares = place == ScratchPlace::SHARED || behind > kMaxScratch ||
             placement.bytes + behind > shared.bytes + more;
  }
  if (shares) {
    placement = std::move(shared);
    behind = 0;  // what lies behind all values is not part of the arena: the runner enlarges it
  }
  const std::vector<Lifetime>& lifetimes = shares ? all : values;
  Compact(lifetimes, &placement);
  size_t end = 0;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].value < 0) continue;
    const size_t offset = placement.offsets[i];
    graph.values[lifetimes[i].value].arena_offset = static_cast<int64_t>(offset);
    end = std::max(end, offset + lifetimes[i].bytes);
  }
  graph.arena_bytes = end + behind;
  return graph;
}

}  // namespace caffe::inference
