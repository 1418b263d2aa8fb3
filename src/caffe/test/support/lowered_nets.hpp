#ifndef CAFFE_TEST_LOWERED_NETS_HPP_
#define CAFFE_TEST_LOWERED_NETS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/passes/split_epilogues.hpp"
#include "caffe/inference/quantize/equalization.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "inference_test.hpp"
#include "random_nets.hpp"

// Random nets, lowered for a target with random choices, against Net.

namespace caffe::inference {

/// Random times, so that every candidate is chosen at some time.
class RandomTiming : public Timing {
 public:
  RandomTiming(const Target& target, unsigned seed)
      : Timing(target, 0, nullptr, 0), random_(seed) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    Timing::Of(context, node, candidate);
    return static_cast<double>(random_() % 1000) * 1000;
  }

 private:
  std::mt19937 random_;
};

/// The same, but candidates that read or write another layout than this one take far longer.
class TimingForLayout : public RandomTiming {
 public:
  TimingForLayout(const Target& target, unsigned seed, Layout::Kind layout)
      : RandomTiming(target, seed), layout_(layout) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    const auto has = [&](const Format& format) { return format.layout == layout_; };
    const bool in_layout = std::all_of(candidate.inputs.begin(), candidate.inputs.end(), has) &&
                           std::all_of(candidate.outputs.begin(), candidate.outputs.end(), has);
    return RandomTiming::Of(context, node, candidate) + (in_layout ? 0 : 1e9);
  }

 private:
  const Layout::Kind layout_;
};

/// Weights that become bytes have a reduced range in half of the seeds.
inline void ReduceSomeRanges(unsigned seed, Graph* graph) {
  for (Node& node : graph->nodes) node.reduce_range = seed / 2 % 2;
}

/// Lowers with weights in one of `maths`, at random or in one layout wherever a kernel takes it.
inline Graph Lowered(const Target& target, Graph graph, const std::set<ElementType>& maths,
                     unsigned seed, const CalibrationTable* table = nullptr,
                     QuantizationScheme scheme = QuantizationScheme::SYMMETRIC,
                     std::optional<Layout::Kind> layout = {}) {
  const auto lower = [&](Graph optimized) {
    if (seed % 2) optimized = SplitEpilogues(std::move(optimized));
    ReduceSomeRanges(seed, &optimized);
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), maths);
    options.ranges.resize(optimized.values.size());
    const std::vector<bool> integers(optimized.nodes.size(), maths.count(ElementType::INT8) > 0);
    if (table) {
      std::vector<bool> rounds;
      for (const Node& node : optimized.nodes) {
        rounds.push_back(RoundsInputs(target, optimized, node));
      }
      options.ranges =
          RangesOf(optimized, *table, integers, rounds, target.takes_unsigned(), scheme);
      if (scheme == QuantizationScheme::SYMMETRIC) {
        optimized = EqualizeChannels(std::move(optimized), *table, options.ranges);
      }
    }
    RandomTiming at_random(target, seed);
    TimingForLayout for_layout(target, seed, layout.value_or(Layout::PLAIN));
    Timing* const timing = layout ? &for_layout : &at_random;
    return Lower(std::move(optimized), options, timing);
  };
  return LoweredBy(lower, std::move(graph));
}

/// Every blob's own range, and those of its channels.
inline CalibrationTable TableOf(const Net<float>& net) {
  CalibrationTable table;
  for (size_t i = 0; i < net.blobs().size(); ++i) {
    const Blob<float>& blob = *net.blobs()[i];
    const auto range = std::minmax_element(blob.cpu_data(), blob.cpu_data() + blob.count());
    if (blob.count() == 0 || (*range.first == 0 && *range.second == 0)) continue;
    BlobCalibration calibration;
    calibration.threshold = std::max(std::fabs(*range.first), std::fabs(*range.second));
    calibration.is_unsigned = *range.first >= 0;
    table.Set(net.blob_names()[i], calibration);
    if (blob.num_axes() < 2) continue;
    std::vector<float> channels(blob.shape(1), 0.f);
    for (int k = 0; k < blob.count(); ++k) {
      float& most = channels[k / blob.count(2) % blob.shape(1)];
      most = std::max(most, std::fabs(blob.cpu_data()[k]));
    }
    table.SetChannelRanges(net.blob_names()[i], channels);
  }
  return table;
}

/// What types a random net is tried in, and to what of its largest output it is right.
struct TypesCase {
  const char* name;
  std::set<ElementType> maths;
  double bound;
  double least = 1;  // the size of values in the net, which small outputs are differences of
};

inline void PrintTo(const TypesCase& c, std::ostream* out) { *out << c.name; }

/// Of random nets, what `target` computes of them in these types, in one layout if one is given.
inline void ExpectTheSame(const Target& target, const TypesCase& c, int nets,
                          std::optional<Layout::Kind> layout = {}) {
  for (const unsigned seed : Seeds(nets)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const Graph original = GraphOf(*net);
    const CalibrationTable table = TableOf(*net);
    const Graph graph =
        Lowered(target, original, c.maths, seed, &table, QuantizationScheme::SYMMETRIC, layout);
    SCOPED_TRACE(ToText(graph));
    ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net)), c.bound, c.least);
    if (::testing::Test::HasFailure()) return;
  }
}

/// The same in a smaller batch than the graph was built for.
inline void ExpectTheSameInASmallerBatch(const Target& target, const TypesCase& c, int nets) {
  for (const unsigned seed : Seeds(nets)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const Graph original = WithBatch(GraphOf(*net), 5);
    const CalibrationTable table = TableOf(*net);
    const Graph graph = Lowered(target, original, c.maths, seed, &table);
    SCOPED_TRACE(ToText(graph));
    const int batch = net->input_blobs()[0]->shape(0);
    ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net), batch), c.bound, c.least);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Which of the implementations named in `missing` no random net of the seeds 0 to 999 uses: fixed
/// ones, as others may take far longer until the rarest has been used.
inline std::set<std::string> NeverUsed(const Target& target, std::set<std::string> missing) {
  const std::set<ElementType> all = {ElementType::FLOAT, ElementType::FLOAT16,
                                     ElementType::BFLOAT16, ElementType::INT8};
  for (unsigned seed = 0; seed < 1000 && !missing.empty(); ++seed) {
    const std::unique_ptr<Net<float>> net = RandomNet(seed).Make();
    net->Forward();
    const Graph original = GraphOf(*net);
    const CalibrationTable table = TableOf(*net);
    const Graph graph = Lowered(target, original, all, seed, &table);
    for (const Node& node : graph.nodes)
      missing.erase(ImplementationOf(target, node.implementation).name());
  }
  return missing;
}

/// Without those for nodes of integers alone (test_integer_engines.cpp).
inline std::set<std::string> NamesOf(const Target& target) {
  std::set<std::string> names;
  for (const Implementation* implementation : target.implementations()) {
    if (implementation->Takes(Node())) names.insert(implementation->name());
  }
  return names;
}

inline const std::vector<TypesCase> kTypesCases = {
    {"Float", {ElementType::FLOAT}, 2e-5, 0.1},
    {"Float16", {ElementType::FLOAT16}, 2e-2},
    {"Mixed", {ElementType::FLOAT, ElementType::FLOAT16}, 2e-2},
    {"Bfloat16", {ElementType::BFLOAT16}, 0.1},
    {"Int8", {ElementType::INT8}, 0.3},
    {"Everything",
     {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::INT8},
     0.3},
};

}  // namespace caffe::inference

#endif  // CAFFE_TEST_LOWERED_NETS_HPP_
