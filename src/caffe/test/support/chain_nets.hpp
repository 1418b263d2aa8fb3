#ifndef CAFFE_TEST_CHAIN_NETS_HPP_
#define CAFFE_TEST_CHAIN_NETS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/joined_layers.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "inference_test.hpp"
#include "inverted_residuals.hpp"
#include "lowered_nets.hpp"

// Nets with chains of convolutions, lowered such that one kernel computes all of them.
namespace caffe::inference {

using Names = std::vector<std::string>;

/// How long a node takes, by the layers that it joins.
using TimeOf = std::function<double(const Names&)>;

/// Joining as many as possible is best.
inline double AlwaysFaster(const Names& layers) { return layers.size() == 1 ? 10 : 1; }

inline Names LayersOf(const Node& node) {
  Names names;
  for (const Node& layer : JoinedLayers(node)) names.push_back(layer.name());
  return names;
}

inline std::vector<Names> ChainsIn(const Graph& graph) {
  std::vector<Names> chains;
  for (const Node& node : graph.nodes) {
    if (IsJoined(node)) chains.push_back(LayersOf(node));
  }
  return chains;
}

/// The kernels that are fastest for every layer, the fastest first, how their blobs lie, and what
/// is fastest for several layers.
struct FastestKernel {
  std::vector<std::string> names;
  Format format;
  std::string chain;
};
const FastestKernel kBytesInBlocks = {
    {"int8"}, {ElementType::INT8, Layout::CHANNELS_BLOCKED}, "int8_chain"};

class ChainTiming : public Timing {
 public:
  ChainTiming(TimeOf time, FastestKernel kernel)
      : Timing(cpu::CpuTarget(), 1, nullptr, 0),
        time_(std::move(time)),
        kernel_(std::move(kernel)) {}
  double Of(const LoweringContext&, const Node& node, const Candidate& candidate) override {
    if (candidate.outputs[0] != kernel_.format) return 1000;
    const bool is_first = candidate.inputs[0].layout == Layout::PLAIN;
    if (!is_first && candidate.inputs[0] != kernel_.format) return 1000;
    const auto& names = kernel_.names;
    const auto found = std::find(names.begin(), names.end(), candidate.implementation->name());
    return found == names.end() ? 500 : time_({node.name()}) + 100. * (found - names.begin());
  }
  double OfLowered(const Graph& graph, const std::vector<Shape>& shapes,
                   const Node& node) override {
    EXPECT_GT(Timing::OfLowered(graph, shapes, node), 0) << "it runs alone";
    const bool is_slow = IsJoined(node) && NameOf(node.implementation) != kernel_.chain;
    return is_slow ? 1e6 : time_(LayersOf(node));
  }

 private:
  static std::string NameOf(const std::string& implementation) {
    return implementation.substr(0, implementation.find(':'));
  }

  const TimeOf time_;
  const FastestKernel kernel_;
};

/// Two inverted residuals, the first with a residual, and dense convolutions with a stride.
const std::string kChainNet = std::string(kTwoResiduals) + R"(
  layer { name: "dense" type: "Convolution" bottom: "linear2" top: "dense"
          convolution_param { num_output: 17 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
  layer { name: "relu3" type: "ReLU" bottom: "dense" top: "dense" }
  layer { name: "last" type: "Convolution" bottom: "dense" top: "out"
          convolution_param { num_output: 8 kernel_size: 1 weight_filler { type: "msra" } } }
)";
/// Its chains, where as many layers as possible are joined.
const std::vector<Names> kAllChains = {{"expand", "dw", "linear"},
                                       {"expand2", "dw2", "linear2", "dense", "last"}};

using OnCandidates = std::function<void(const LayerCandidates&)>;

/// Lowered for this kernel, joined as `time` says; without it, not joined.
inline Graph LoweredChains(const Net<float>& net, const TimeOf& time, const FastestKernel& kernel,
                           LoweringOptions options,
                           const std::function<void(Graph*, LoweringOptions*)>& prepare,
                           const OnCandidates& on_candidates = nullptr) {
  const auto lower = [&](Graph graph) {
    ChainTiming timing(time ? time : AlwaysFaster, kernel);
    options.maths.assign(graph.nodes.size(), {kernel.format.type});
    options.ranges.resize(graph.values.size());
    if (prepare) prepare(&graph, &options);
    graph = ChooseImplementations(std::move(graph), options, &timing);
    if (time) graph = JoinLayers(std::move(graph), &timing, on_candidates);
    return PackWeights(std::move(graph), timing.target());
  };
  return LoweredBy(lower, GraphOf(net));
}

/// In 8 bits.
inline Graph LoweredBytes(const Net<float>& net, QuantizationScheme scheme, const TimeOf& time,
                          const FastestKernel& kernel, bool reduces = false,
                          const OnCandidates& on_candidates = nullptr) {
  const CalibrationTable table = TableOf(net);
  const auto prepare = [&](Graph* graph, LoweringOptions* options) {
    const std::vector<bool> integers(graph->nodes.size(), true), rounds(graph->nodes.size(), false);
    options->ranges = RangesOf(*graph, table, integers, rounds, true, scheme);
    for (Node& node : graph->nodes) node.reduce_range = reduces;
  };
  return LoweredChains(net, time, kernel, {}, prepare, on_candidates);
}

}  // namespace caffe::inference

#endif  // CAFFE_TEST_CHAIN_NETS_HPP_
