#include "choose_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>

namespace caffe::inference {
namespace {

constexpr int kLayouts = 3;
constexpr int kFormats = 8 * kLayouts;  // of all element types
constexpr double kBetter = 1 - 1e-9;    // less than rounding may do is no gain
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int kLongestRun = 64;  // nodes

int NumberOf(const Format& format) {
  return static_cast<int>(format.type) * kLayouts + static_cast<int>(format.layout);
}

Format FormatOfNumber(int number) {
  return {static_cast<ElementType>(number / kLayouts),
          static_cast<Layout::Kind>(number % kLayouts)};
}

bool HasTheSameFormats(const Candidate& a, const Candidate& b) {
  return a.inputs == b.inputs && a.operands == b.operands && a.outputs == b.outputs;
}

bool Writes(const Candidate& candidate, const Format& format) {
  return !candidate.outputs.empty() && candidate.outputs[0] == format;
}

class CandidateSearch {
 public:
  CandidateSearch(const Graph& graph, const std::vector<std::vector<Candidate>>& candidates,
                  const std::vector<Format>& preferred, const CandidateCosts& costs)
      : graph_(graph),
        candidates_(candidates),
        preferred_(preferred),
        costs_(costs),
        producers_(Producers(graph)),
        readers_(Readers(graph)),
        reorders_(graph.values.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      ways_.push_back(CheapestOfTheirFormats(i));
      const std::vector<int> reads = graph.nodes[i].Reads();
      std::set<int> values(reads.begin(), reads.end());
      values.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
      touched_.emplace_back(values.begin(), values.end());
    }
    for (std::vector<int>& readers : readers_) {
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    }
  }

  std::vector<int> Search() {
    std::vector<int> best;
    double least = std::numeric_limits<double>::infinity();
    const auto start_with = [&](const Format* format) {
      choice_.clear();
      for (size_t i = 0; i < candidates_.size(); ++i) {
        const int cheapest = format ? CheapestIn(i, *format) : -1;
        choice_.push_back(cheapest < 0 ? Cheapest(i) : cheapest);
      }
      Descend();
      const double cost = Cost();
      if (cost >= least) return;
      least = cost;
      best = choice_;
    };
    start_with(nullptr);
    for (const Format& format : preferred_) start_with(&format);
    choice_ = best;
    while (ImproveRuns()) Descend();
    return choice_;
  }

  /// Of the present choice.
  double Cost() const {
    double cost = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) cost += CostOfNode(i);
    for (size_t i = 0; i < graph_.values.size(); ++i) cost += CostOfValue(static_cast<int>(i));
    return cost;
  }

 private:
  double CostOfNode(size_t node) const { return costs_.nodes[node][choice_[node]]; }
  const Candidate& chosen(size_t node) const { return candidates_[node][choice_[node]]; }

  /// Of candidates with the same formats only the cheapest, the first of equal ones, can be chosen.
  std::vector<int> CheapestOfTheirFormats(size_t node) const {
    const std::vector<Candidate>& all = candidates_[node];
    const std::vector<double>& costs = costs_.nodes[node];
    std::vector<int> ways;
    for (size_t c = 0; c < all.size(); ++c) {
      const auto same = std::find_if(ways.begin(), ways.end(),
                                     [&](int way) { return HasTheSameFormats(all[way], all[c]); });
      if (same == ways.end()) {
        ways.push_back(static_cast<int>(c));
      } else if (costs[c] < costs[*same]) {
        *same = static_cast<int>(c);
      }
    }
    return ways;
  }

  int Cheapest(size_t node) const {
    const std::vector<double>& costs = costs_.nodes[node];
    return *std::min_element(ways_[node].begin(), ways_[node].end(),
                             [&](int a, int b) { return costs[a] < costs[b]; });
  }
  /// The cheapest one that writes this format, -1 if there is none.
  int CheapestIn(size_t node, const Format& format) const {
    int cheapest = -1;
    for (const int way : ways_[node]) {
      if (!Writes(candidates_[node][way], format)) continue;
      const std::vector<double>& costs = costs_.nodes[node];
      if (cheapest < 0 || costs[way] < costs[cheapest]) cheapest = way;
    }
    return cheapest;
  }

  int MadeIn(int value) const {
    const int producer = producers_[value];
    if (producer < 0) return NumberOf(Format());
    const std::vector<int>& outputs = graph_.nodes[producer].outputs;
    const auto place = std::find(outputs.begin(), outputs.end(), value);
    return NumberOf(chosen(producer).outputs[place - outputs.begin()]);
  }

  /// The cost of reorders to all formats in which the value is read.
  double CostOfValue(int value) const {
    uint32_t wanted = 0;
    static_assert(kFormats <= 32);
    const auto want = [&](const Format& format) { wanted |= uint32_t{1} << NumberOf(format); };
    for (const int reader : readers_[value]) {
      const Node& node = graph_.nodes[reader];
      const Candidate& candidate = chosen(reader);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == value) want(candidate.inputs[i]);
      }
      for (size_t i = 0; i < node.epilogue.size(); ++i) {
        if (node.epilogue[i].operand == value) want(candidate.operands[i]);
      }
    }
    if (graph_.IsOutput(value)) want(Format());
    const int made = MadeIn(value);
    wanted &= ~(uint32_t{1} << made);
    double cost = 0;
    for (int format = 0; wanted >> format; ++format) {
      if (wanted >> format & 1) cost += CostOfReorder(value, made, format);
    }
    return cost;
  }

  double CostOfReorder(int value, int from, int to) const {
    std::vector<double>& known = reorders_[value];
    if (known.empty()) known.assign(kFormats * kFormats, kUnknown);
    double& cost = known[from * kFormats + to];
    if (std::isnan(cost)) cost = costs_.reorder(value, FormatOfNumber(from), FormatOfNumber(to));
    return cost;
  }

  double CostOfValues(const std::vector<int>& values) const {
    double cost = 0;
    for (const int value : values) cost += CostOfValue(value);
    return cost;
  }

  /// Of each way of a node: its cost and that of these values, which no other node that is changed
  /// touches.
  std::vector<double> CostsOfWays(int node, const std::vector<int>& values) {
    const int before = choice_[node];
    std::vector<double> costs;
    for (const int way : ways_[node]) {
      choice_[node] = way;
      costs.push_back(CostOfNode(node) + CostOfValues(values));
    }
    choice_[node] = before;
    return costs;
  }

  /// Takes the best way of a node. False if nothing got better.
  bool Improve(int node) {
    const double before = CostOfNode(node) + CostOfValues(touched_[node]);
    const std::vector<double> costs = CostsOfWays(node, touched_[node]);
    const auto best = std::min_element(costs.begin(), costs.end());
    if (*best >= before * kBetter) return false;
    choice_[node] = ways_[node][best - costs.begin()];
    return true;
  }

  /// Takes the best combination for two nodes. False if nothing got better.
  bool Improve(int a, int b) {
    const std::vector<int>&of_a = touched_[a], &of_b = touched_[b];
    std::vector<int> shared, only_a, only_b;
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                          std::back_inserter(shared));
    std::set_difference(of_a.begin(), of_a.end(), shared.begin(), shared.end(),
                        std::back_inserter(only_a));
    std::set_difference(of_b.begin(), of_b.end(), shared.begin(), shared.end(),
                        std::back_inserter(only_b));
    double least = CostOfNode(a) + CostOfNode(b) + CostOfValues(only_a) + CostOfValues(only_b) +
                   CostOfValues(shared);
    const double before = least;
    int best_a = choice_[a], best_b = choice_[b];
    const std::vector<double> costs_a = CostsOfWays(a, only_a), costs_b = CostsOfWays(b, only_b);
    for (size_t i = 0; i < costs_a.size(); ++i) {
      for (size_t k = 0; k < costs_b.size(); ++k) {
        const double alone = costs_a[i] + costs_b[k];
        if (alone >= least * kBetter) continue;
        choice_[a] = ways_[a][i];
        choice_[b] = ways_[b][k];
        const double cost = alone + CostOfValues(shared);
        if (cost >= least * kBetter) continue;
        least = cost;
        best_a = choice_[a];
        best_b = choice_[b];
      }
    }
    choice_[a] = best_a;
    choice_[b] = best_b;
    return least < before;
  }

  void Descend() {
    const int count = static_cast<int>(graph_.nodes.size());
    for (bool better = true; better;) {
      better = false;
      for (int i = 0; i < count; ++i) better = Improve(i) || better;
      for (int i = 0; i < count; ++i) {
        for (const int value : graph_.nodes[i].Reads()) {
          if (producers_[value] >= 0) better = Improve(producers_[value], i) || better;
        }
      }
    }
  }

  /// Part of a net may be faster in another format, but none of its layers with reorders around it.
  bool ImproveRuns() {
    bool better = false;
    for (const Format& format : preferred_) {
      for (size_t first = 0; first < graph_.nodes.size(); ++first) {
        better = ImproveRun(first, format) || better;
      }
    }
    return better;
  }

  /// The best run of nodes from this one on, those that can write the format.
  bool ImproveRun(size_t first, const Format& format) {
    const size_t end = std::min(graph_.nodes.size(), first + kLongestRun);
    const std::vector<int> before(choice_.begin() + first, choice_.begin() + end);
    const double tolerance = (1 - kBetter) * Cost();
    double gained = 0, most = tolerance;
    size_t best_end = first;
    for (size_t i = first; i < end; ++i) {
      const int way = CheapestIn(i, format);
      if (way < 0 || Writes(chosen(i), format)) continue;
      gained += CostOfNode(i) + CostOfValues(touched_[i]);
      choice_[i] = way;
      gained -= CostOfNode(i) + CostOfValues(touched_[i]);
      if (gained <= most) continue;
      most = gained;
      best_end = i + 1;
    }
    std::copy(before.begin() + (best_end - first), before.end(), choice_.begin() + best_end);
    return best_end > first;
  }

  const Graph& graph_;
  const std::vector<std::vector<Candidate>>& candidates_;
  const std::vector<Format>& preferred_;
  const CandidateCosts& costs_;
  const std::vector<int> producers_;
  std::vector<std::vector<int>> readers_;              // each once
  mutable std::vector<std::vector<double>> reorders_;  // of each value, from and to each format
  std::vector<std::vector<int>> ways_;                 // of each node: candidates
  std::vector<std::vector<int>> touched_;              // of each node: values
  std::vector<int> choice_;
};

}  // namespace

std::vector<int> ChooseCandidates(const Graph& graph,
                                  const std::vector<std::vector<Candidate>>& candidates,
                                  const std::vector<Format>& preferred, const CandidateCosts& costs,
                                  double* cost) {
  CandidateSearch search(graph, candidates, preferred, costs);
  const std::vector<int> choice = search.Search();
  if (cost) *cost = search.Cost();
  return choice;
}

}  // namespace caffe::inference
