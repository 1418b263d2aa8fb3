#include "lowering_passes.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/inference/backends/joined_layers.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/backends/operand_places.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/inference/passes/split_epilogues.hpp"
#include "caffe/inference/quantize/blob_intervals.hpp"
#include "caffe/inference/quantize/equalization.hpp"
#include "caffe/inference/quantize/fused_sums.hpp"
#include "caffe/inference/quantize/integers.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "memory_plan.hpp"

#include "siblings.hpp"

namespace caffe::inference {
namespace {

/// The ranges of values that layers with weights read as 8-bit integers.
std::vector<Range> RangesInFloats(const Graph& graph, const BuildContext& build) {
  std::vector<bool> integers, rounds;
  for (const Node& node : graph.nodes) {
    integers.push_back(build.LoweredTypesFor(node).count(ElementType::INT8) > 0);
    rounds.push_back(RoundsInputs(*build.target, graph, node));
  }
  return RangesOf(graph, *build.table, integers, rounds, build.target->takes_unsigned(),
                  build.Scheme());
}

Timing TimingOf(const BuildContext& build) {
  const BuilderConfig& config = build.config;
  return Timing(*build.target, config.timing_iterations, config.timing_cache.get(),
                config.max_workspace);
}

/// Says which bottoms of a Concat lose half of their bits, or more, to others with which they share
/// a range.
void RemarkLostBits(const Graph& graph, const BuildContext& build) {
  if (!build.table || !build.config.remark) return;
  const auto& training = build.config.quantization.training;
  const int bits = training ? training->activation_bits : 8;
  for (const Node& node : graph.nodes) {
    if (node.type() != "Concat") continue;
    const Range& shared = build.ranges[node.outputs[0]];
    for (const int input : node.inputs) {
      const std::string& name = graph.values[input].name;
      const BlobCalibration* row = build.table->Find(name);
      if (!row || !shared.known() || build.ranges[input].scale != shared.scale) continue;
      const Interval own = IntervalOf(name, *row), all = IntervalOf(shared, bits);
      const int lost = static_cast<int>(std::log2((all.most - all.least) / (own.most - own.least)));
      if (2 * lost < bits) continue;
      build.config.remark(Join("blob '", name, "' keeps ", std::max(0, bits - lost), " of its ",
                               bits, " bits: layer '", node.name(),
                               "' (Concat) gives its bottoms one range"));
    }
  }
}

}  // namespace

bool IsLowered(const BuildContext& build) { return build.target != nullptr; }

bool HasFloatResiduals(const BuildContext& build) { return !build.HasIntegersAlone(); }

bool HasIntegersAlone(const BuildContext& build) { return build.HasIntegersAlone(); }

bool FusesSumsOfIntegers(const BuildContext& build) {
  return build.HasIntegersAlone() && build.target->fuses_integer_sums() &&
         !build.Skips(kPassWithoutIntegers);
}

bool Equalizes(const BuildContext& build) {
  return IsLowered(build) && build.table && !build.HasIntegersAlone() &&
         build.Scheme() == QuantizationScheme::SYMMETRIC;
}

bool JoinsLayers(const BuildContext& build) {
  return IsLowered(build) && !build.target->joining().empty();
}

// On a GPU the runner allocates scratch memory: its size differs between devices.
bool PlansScratch(const BuildContext& build) {
  return build.config.backend == Backend::CPU && !build.Skips("memory");
}

Graph MergeSiblingsOfBuild(Graph graph, BuildContext* build) {
  const bool in_floats = IsLowered(*build) && build->table && !build->HasIntegersAlone();
  const std::vector<Range> ranges =
      in_floats ? RangesInFloats(graph, *build) : std::vector<Range>();
  ValueBounds bounds;
  for (size_t i = 0; build->table && i < graph.values.size(); ++i) {
    const std::string& name = graph.values[i].name;
    const BlobCalibration* row = build->HasIntegersAlone() ? build->table->Find(name) : nullptr;
    if (!row && !(in_floats && ranges[i].known())) continue;
    const Interval interval = row ? IntervalOf(name, *row) : IntervalOf(ranges[i]);
    bounds[name] = {interval.least, interval.most};
  }
  return MergeSiblings(std::move(graph), bounds);
}

Graph BecomeIntegers(Graph graph, BuildContext* build) {
  graph = SplitForIntegers(std::move(graph));
  const Quantization& quantization = build->config.quantization;
  IntegerOptions options;
  options.refuses = quantization.ArithmeticOrDefault() == Arithmetic::INTEGER_ONLY;
  options.rounding = quantization.RoundingOrDefault();
  options.weights.scheme = build->Scheme();
  if (const auto& training = quantization.training) {
    options.weights.to_nearest = true;
    options.weights.bits = training->weight_bits;
    options.activation_bits = training->activation_bits;
  }
  options.remark = build->config.remark;
  options.means = MeansOf(graph, *build->table);
  for (const Node& node : graph.nodes) {
    options.wanted.push_back(build->TypesFor(node).count(ElementType::INT8) > 0);
  }
  return ToIntegers(std::move(graph), *build->table, options);
}

Graph FuseSumsOfIntegers(Graph graph, BuildContext*) {
  return FuseIntegerResiduals(std::move(graph));
}

Graph SplitForKernels(Graph graph, BuildContext*) { return SplitEpilogues(std::move(graph)); }

Graph FindRanges(Graph graph, BuildContext* build) {
  if (build->HasIntegersAlone()) {
    build->ranges = RangesOf(graph);
    for (Value& value : graph.values) {  // formats are chosen with kernels
      if (value.is_constant()) continue;
      value.type = ElementType::FLOAT;
      value.affine = AffineParameters();
    }
  } else if (build->table) {
    build->ranges = RangesInFloats(graph, *build);
  } else {
    build->ranges.assign(graph.values.size(), Range());
  }
  RemarkLostBits(graph, *build);
  return graph;
}

Graph Equalize(Graph graph, BuildContext* build) {
  return EqualizeChannels(std::move(graph), *build->table, build->ranges);
}

Graph ChooseKernels(Graph graph, BuildContext* build) {
  const BuilderConfig& config = build->config;
  LoweringOptions options;
  options.progress = config.progress;
  options.remark = config.remark;
  options.on_candidates = config.on_candidates;
  options.tensor_float = config.tensor_float;
  options.ranges = build->ranges;
  for (const Node& node : graph.nodes) options.maths.push_back(build->LoweredTypesFor(node));
  if (build->table && !build->HasIntegersAlone()) options.means = MeansOf(graph, *build->table);
  Timing timing = TimingOf(*build);
  return ChooseImplementations(std::move(graph), options, &timing);
}

Graph JoinLayersOfBuild(Graph graph, BuildContext* build) {
  Timing timing = TimingOf(*build);
  return JoinLayers(std::move(graph), &timing, build->config.on_candidates);
}

Graph PackWeightsOfBuild(Graph graph, BuildContext* build) {
  return PackWeights(std::move(graph), *build->target);
}

Graph FindScratch(Graph graph, BuildContext* build) {
  build->scratch = ScratchBytes(graph, *build->target);
  return graph;
}

Graph PlanMemoryOfBuild(Graph graph, BuildContext* build) {
  const bool is_limited = build->config.max_memory > 0;
  return PlanMemory(std::move(graph), build->scratch,
                    is_limited ? ScratchPlace::SHARED : ScratchPlace::BEHIND_VALUES);
}

}  // namespace caffe::inference
