// The search for the best combination of candidates, with costs that tests set.
#include "caffe/inference/backends/choose_candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "caffe/test/support/seeds.hpp"

namespace caffe::inference {
namespace {

constexpr Format kPlain = {ElementType::FLOAT, Layout::PLAIN};
constexpr Format kBlocked = {ElementType::FLOAT, Layout::CHANNELS_BLOCKED};
constexpr Format kLast = {ElementType::FLOAT, Layout::CHANNELS_LAST};
const std::vector<Format> kPreferred = {kBlocked, kLast};

/// A graph whose nodes have candidates of given costs.
class Costly {
 public:
  Costly() { graph.inputs = {graph.AddValue("x", {1, 16, 4, 4})}; }

  /// A node with one output, the graph's only one until there is another node.
  int Add(const std::vector<int>& inputs) {
    Node node;
    node.layer.set_name("node" + std::to_string(graph.nodes.size()));
    node.layer.set_type("ReLU");
    node.inputs = inputs;
    node.outputs = {graph.AddValue("y" + std::to_string(graph.nodes.size()), {1, 16, 4, 4})};
    graph.outputs = node.outputs;
    graph.nodes.push_back(node);
    candidates.emplace_back();
    costs.nodes.emplace_back();
    return node.outputs[0];
  }
  /// One of the last node.
  void Candidate(const Format& from, const Format& to, double cost) {
    caffe::inference::Candidate candidate;
    candidate.inputs.assign(graph.nodes.back().inputs.size(), from);
    candidate.outputs = {to};
    candidates.back().push_back(candidate);
    costs.nodes.back().push_back(cost);
  }
  void InEachLayout(double plain, double blocked, double last) {
    Candidate(kPlain, kPlain, plain);
    Candidate(kBlocked, kBlocked, blocked);
    Candidate(kLast, kLast, last);
  }

  std::vector<int> Choose() const { return ChooseCandidates(graph, candidates, kPreferred, costs); }
  /// A letter for the layout of each node's output: plain, last, blocked.
  std::string Layouts() const {
    const std::vector<int> choice = Choose();
    std::string layouts;
    for (size_t i = 0; i < choice.size(); ++i) {
      layouts += "plb"[candidates[i][choice[i]].outputs[0].layout];
    }
    return layouts;
  }

  /// What a choice costs.
  double CostOf(const std::vector<int>& choice) const {
    double cost = 0;
    const std::vector<int> producers = Producers(graph);
    for (size_t i = 0; i < choice.size(); ++i) cost += costs.nodes[i][choice[i]];
    for (size_t v = 0; v < graph.values.size(); ++v) {
      const int value = static_cast<int>(v), producer = producers[v];
      const Format made = producer < 0 ? kPlain : candidates[producer][choice[producer]].outputs[0];
      std::set<Format> wanted;
      if (graph.IsOutput(value)) wanted.insert(kPlain);
      for (size_t i = 0; i < choice.size(); ++i) {
        for (size_t k = 0; k < graph.nodes[i].inputs.size(); ++k) {
          if (graph.nodes[i].inputs[k] == value) wanted.insert(candidates[i][choice[i]].inputs[k]);
        }
      }
      for (const Format& format : wanted) {
        if (format != made) cost += costs.reorder(value, made, format);
      }
    }
    return cost;
  }

  Graph graph;
  std::vector<std::vector<caffe::inference::Candidate>> candidates;
  CandidateCosts costs;
};

Costly WithReorders(double cost) {
  Costly net;
  net.costs.reorder = [=](int, const Format&, const Format&) { return cost; };
  return net;
}

TEST(ChooseCandidates, TakesTheLayoutThatIsFasterAsAWhole) {
  for (const bool last_is_faster : {false, true}) {
    Costly net = WithReorders(10);
    int value = 0;
    for (int i = 0; i < 6; ++i) {
      value = net.Add({value});
      // One layer is faster in the other layout, by less than reorders take.
      const double odd = i == 3 ? 12 : 0;
      net.InEachLayout(100, last_is_faster ? 20 : 10 + odd, last_is_faster ? 10 + odd : 20);
    }
    EXPECT_EQ(net.Layouts(), last_is_faster ? "llllll" : "bbbbbb");
  }
}

TEST(ChooseCandidates, ChangesTheLayoutWhereThatPays) {
  Costly net = WithReorders(10);
  int value = 0;
  for (int i = 0; i < 12; ++i) {
    value = net.Add({value});
    net.InEachLayout(100, i < 6 ? 10 : 15, i < 6 ? 15 : 10);
  }
  EXPECT_EQ(net.Layouts(), "bbbbbbllllll");
}

// Five regions of layers, faster in the one and the other layout in turn. Those in the middle have
// a way that leads astray: the fastest, but for the reorders before it.
TEST(ChooseCandidates, FindsRunsOfLayersInAnotherLayout) {
  const std::string expected =
      "llllllllll"
      "bbbbbbbbbb"
      "llllllllll"
      "bbbbbbbbbb"
      "llllllllll";
  Costly net;
  net.costs.reorder = [](int, const Format& from, const Format& to) {
    return from == kPlain || to == kPlain ? 12 : 10;
  };
  int value = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    value = net.Add({value});
    const bool blocked = expected[i] == 'b';
    net.InEachLayout(100, blocked ? 5 : 8, blocked ? 8 : 5);
    if (i >= 20 && i < 30) net.Candidate(kPlain, kBlocked, 4);
  }
  EXPECT_EQ(net.Layouts(), expected);
}

TEST(ChooseCandidates, TakesTheFirstOfEqualOnesAndTheCheapestOfOneFormat) {
  Costly net = WithReorders(1);
  net.Add({0});
  net.Candidate(kPlain, kPlain, 5);
  net.Candidate(kPlain, kPlain, 3);
  net.Candidate(kPlain, kPlain, 3);
  EXPECT_EQ(net.Choose(), std::vector<int>{1});
}

TEST(ChooseCandidates, CountsAReorderOncePerFormat) {
  // Two readers share a reorder: 3 + 10 + 2 + 2 is less than 3 + 8 + 8.
  Costly net = WithReorders(10);
  const int made = net.Add({0});
  net.Candidate(kPlain, kPlain, 3);
  for (int i = 0; i < 2; ++i) {
    net.Add({made});
    net.Candidate(kPlain, kPlain, 8);
    net.Candidate(kLast, kPlain, 2);
  }
  EXPECT_EQ(net.Choose(), (std::vector<int>{0, 1, 1}));
}

// Against all combinations, in graphs small enough to try them.
TEST(ChooseCandidates, IsCloseToTheBestOfAllCombinations) {
  for (const unsigned seed : Seeds(40)) {
    std::minstd_rand random(seed);
    random.discard(3);
    Costly net;
    std::vector<double> times(1 << 10);
    for (double& time : times) time = random() % 20;
    net.costs.reorder = [&](int value, const Format& from, const Format& to) {
      return 1 + times[value * 16 + from.layout * 4 + to.layout];
    };
    for (int i = 0; i < 6; ++i) {
      net.Add({static_cast<int>(random() % (i + 1)), i});
      const auto time = [&] { return random() % 40; };
      net.InEachLayout(time(), time(), time());
      net.Candidate(kBlocked, kLast, time());
    }
    const std::vector<int> choice = net.Choose();
    EXPECT_EQ(choice, net.Choose());
    double least = std::numeric_limits<double>::infinity();
    std::vector<int> tried(6, 0);
    for (bool done = false; !done;) {
      least = std::min(least, net.CostOf(tried));
      size_t digit = 0;
      while (digit < tried.size() && ++tried[digit] == 4) tried[digit++] = 0;
      done = digit == tried.size();
    }
    const double cost = net.CostOf(choice);
    EXPECT_GE(cost, least) << "CAFFE_TEST_SEED=" << seed;
    EXPECT_LE(cost, 1.3 * least) << "CAFFE_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace caffe::inference
