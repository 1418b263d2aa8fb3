#ifndef CAFFE_TEST_INTEGER_NETS_HPP_
#define CAFFE_TEST_INTEGER_NETS_HPP_

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "caffe/inference/backends/joined_layers.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/inference/quantize/integers.hpp"
#include "lowered_nets.hpp"

// Random nets in integers alone.
namespace caffe::inference {

inline BlobCalibration Seen(double minimum, double maximum) {
  BlobCalibration range;
  range.minimum = minimum;
  range.maximum = maximum;
  range.threshold = std::max(std::fabs(minimum), std::fabs(maximum));
  range.is_unsigned = minimum >= 0;
  return range;
}

/// Every blob's own range.
inline CalibrationTable RangesOfBlobs(const Net<float>& net) {
  CalibrationTable table;
  for (size_t i = 0; i < net.blobs().size(); ++i) {
    const Blob<float>& blob = *net.blobs()[i];
    const auto range = std::minmax_element(blob.cpu_data(), blob.cpu_data() + blob.count());
    if (blob.count() == 0 || (*range.first == 0 && *range.second == 0)) continue;
    table.Set(net.blob_names()[i], Seen(*range.first, *range.second));
  }
  return table;
}

inline IntegerOptions OptionsOf(QuantizationScheme scheme, kernels::Rounding rounding,
                                size_t nodes) {
  IntegerOptions options;
  options.rounding = rounding;
  options.weights.scheme = scheme;
  options.wanted.assign(nodes, true);
  return options;
}

inline Graph InIntegers(Graph graph, const CalibrationTable& table, QuantizationScheme scheme,
                        kernels::Rounding rounding) {
  graph = SplitForIntegers(
      Optimize(std::move(graph), {kPassWithoutIntegers, "views", "order", "memory"}));
  const size_t nodes = graph.nodes.size();
  return ToIntegers(std::move(graph), table, OptionsOf(scheme, rounding, nodes));
}

/// Takes the definitions wherever there are any.
class DefinitionsFirst : public Timing {
 public:
  explicit DefinitionsFirst(const Target& target) : Timing(target, 0, nullptr, 0) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    Timing::Of(context, node, candidate);
    const bool defines = std::string(candidate.implementation->name()).rfind("integer", 0) == 0;
    const bool plain = candidate.outputs.empty() || candidate.outputs[0].layout == Layout::PLAIN;
    return defines && plain ? 0 : 1e9;
  }
};

/// The graph of integers with kernels chosen by `timing`, and places in memory. `joins`: layers may
/// be joined.
inline Graph LoweredIntegers(Graph graph, Timing* timing, bool joins = false) {
  LoweringOptions options;
  options.ranges = RangesOf(graph);
  for (Value& value : graph.values) {
    if (value.is_constant()) continue;
    value.type = ElementType::FLOAT;
    value.affine = AffineParameters();
  }
  graph = SplitEpilogues(std::move(graph));
  for (const Node& node : graph.nodes) {
    options.maths.push_back({node.integers ? ElementType::INT8 : ElementType::FLOAT});
  }
  options.ranges.resize(graph.values.size());
  graph = ChooseImplementations(std::move(graph), options, timing);
  if (joins) graph = JoinLayers(std::move(graph), timing, nullptr);
  graph = PackWeights(std::move(graph), timing->target());
  return PlanMemory(OrderForMemory(MakeViews(std::move(graph))));
}

inline bool AllInIntegers(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.integers.has_value(); });
}

struct Way {
  const char* name;
  QuantizationScheme scheme;
  kernels::Rounding rounding;
  double bound;  ///< of the largest output of a random net
};
inline std::ostream& operator<<(std::ostream& stream, const Way& way) { return stream << way.name; }

const std::vector<Way> kWays = {
    {"Symmetric", QuantizationScheme::SYMMETRIC, kernels::Rounding::DOUBLE, 0.3},
    {"Affine", QuantizationScheme::AFFINE, kernels::Rounding::DOUBLE, 0.3},
    {"AffineRoundedOnce", QuantizationScheme::AFFINE, kernels::Rounding::SINGLE, 0.3},
    {"Paper", QuantizationScheme::PAPER, kernels::Rounding::DOUBLE, 0.3}};

}  // namespace caffe::inference

#endif  // CAFFE_TEST_INTEGER_NETS_HPP_
