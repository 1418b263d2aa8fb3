// The order in which layers run decides which blobs are alive at once. To find the best one is
// NP-hard; here layers are moved one at a time as long as that makes the peak smaller or, at the
// same peak, lifetimes shorter, which leaves room for scratch memory.
#include <algorithm>
#include <utility>

#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "memory_plan.hpp"

namespace caffe::inference {
namespace {

/// Nodes that have to run before others, which read their outputs.
std::vector<std::vector<int>> MakersOf(const Graph& graph) {
  const std::vector<int> producers = Producers(graph);
  std::vector<std::vector<int>> makers(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int value : graph.nodes[i].Reads()) {
      if (producers[value] >= 0) makers[i].push_back(producers[value]);
    }
  }
  return makers;
}

/// Memory of a value is taken by the first node that touches it and freed by the last.
class Schedule {
 public:
  explicit Schedule(const Graph& graph) : makers_(MakersOf(graph)), touched_(graph.nodes.size()) {
    readers_.resize(makers_.size());
    for (size_t i = 0; i < makers_.size(); ++i) {
      for (const int maker : makers_[i]) readers_[maker].push_back(static_cast<int>(i));
    }
    std::vector<int> planned(graph.values.size(), -1);
    for (const Lifetime& lifetime : Lifetimes(graph)) {
      planned[lifetime.value] = static_cast<int>(bytes_.size());
      bytes_.push_back(lifetime.bytes);
      users_.emplace_back();
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (IsFree(graph, node)) continue;
      std::vector<int> values = node.Reads();
      values.insert(values.end(), node.outputs.begin(), node.outputs.end());
      for (const int value : values) {
        const int place = planned[RootOf(graph, value)];
        if (place < 0 || std::count(touched_[i].begin(), touched_[i].end(), place)) continue;
        touched_[i].push_back(place);
        users_[place].push_back(static_cast<int>(i));
      }
    }
  }

  /// Of all nodes that could be next, always the one after which least memory is in use.
  std::vector<int> Greedy() const {
    const size_t count = makers_.size();
    std::vector<int> order, missing(count), left(bytes_.size());
    std::vector<bool> done(count, false), live(bytes_.size(), false);
    for (size_t i = 0; i < count; ++i) missing[i] = static_cast<int>(makers_[i].size());
    for (size_t v = 0; v < left.size(); ++v) left[v] = static_cast<int>(users_[v].size());
    while (order.size() < count) {
      int best = -1;
      double least = 0;
      for (size_t i = 0; i < count; ++i) {
        if (done[i] || missing[i] > 0) continue;
        double growth = 0;
        for (const int value : touched_[i]) {
          if (!live[value]) growth += static_cast<double>(bytes_[value]);
          if (left[value] == 1) growth -= static_cast<double>(bytes_[value]);
        }
        if (best < 0 || growth < least) {
          best = static_cast<int>(i);
          least = growth;
        }
      }
      done[best] = true;
      order.push_back(best);
      for (const int value : touched_[best]) {
        live[value] = true;
        --left[value];
      }
      for (const int reader : readers_[best]) --missing[reader];
    }
    return order;
  }

  /// The peak of the bytes that are alive at once, and the sum over all nodes of what is alive
  /// while each runs: compared in this order.
  using Use = std::pair<size_t, size_t>;
  Use Of(const std::vector<int>& order) const {
    std::vector<int> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
    std::vector<ptrdiff_t> change(order.size() + 1, 0);
    for (size_t v = 0; v < bytes_.size(); ++v) {
      int first = static_cast<int>(order.size()), last = -1;
      for (const int user : users_[v]) {
        first = std::min(first, place[user]);
        last = std::max(last, place[user]);
      }
      change[first] += static_cast<ptrdiff_t>(bytes_[v]);
      change[last + 1] -= static_cast<ptrdiff_t>(bytes_[v]);
    }
    ptrdiff_t now = 0, peak = 0, sum = 0;
    for (const ptrdiff_t step : change) {
      now += step;
      peak = std::max(peak, now);
      sum += now;
    }
    return {static_cast<size_t>(peak), static_cast<size_t>(sum)};
  }

  /// Moves nodes, one at a time, as far up or down as what they read and make allows, wherever that
  /// leaves less in use.
  std::vector<int> Improved(std::vector<int> order) const {
    Use least = Of(order);
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      const Use before = least;
      for (size_t node = 0; node < makers_.size(); ++node) {
        for (const bool up : {true, false}) {
          const std::vector<int> moved = Moved(order, static_cast<int>(node), up);
          const Use use = Of(moved);
          if (use >= least) continue;
          least = use;
          order = moved;
        }
      }
      if (least == before) break;
    }
    return order;
  }

 private:
  std::vector<int> Moved(std::vector<int> order, int node, bool up) const {
    const auto at = std::find(order.begin(), order.end(), node);
    const auto stops = [&](const std::vector<int>& others, int other) {
      return std::find(others.begin(), others.end(), other) != others.end();
    };
    auto end = at;
    if (up) {
      while (end != order.begin() && !stops(makers_[node], *(end - 1))) --end;
      std::rotate(end, at, at + 1);
    } else {
      while (end + 1 != order.end() && !stops(readers_[node], *(end + 1))) ++end;
      std::rotate(at, at + 1, end + 1);
    }
    return order;
  }

  const std::vector<std::vector<int>> makers_;
  std::vector<std::vector<int>> readers_;
  std::vector<size_t> bytes_;              // of each planned value
  std::vector<std::vector<int>> users_;    // nodes that touch it
  std::vector<std::vector<int>> touched_;  // planned values that a node touches
};

}  // namespace

Graph OrderForMemory(Graph graph) {
  const Schedule schedule(graph);
  std::vector<int> given(graph.nodes.size());
  for (size_t i = 0; i < given.size(); ++i) given[i] = static_cast<int>(i);
  const std::vector<int> from_given = schedule.Improved(given),
                         from_greedy = schedule.Improved(schedule.Greedy());
  const bool greedy = schedule.Of(from_greedy) < schedule.Of(from_given);
  const std::vector<int>& best = greedy ? from_greedy : from_given;
  if (schedule.Of(best) >= schedule.Of(given)) return graph;
  std::vector<Node> nodes;
  for (const int node : best) nodes.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace caffe::inference
