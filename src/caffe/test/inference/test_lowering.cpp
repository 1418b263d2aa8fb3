// The CPU backend against the reference one: whatever implementations, types and layouts are
// chosen, the outputs are those of the net, to what the types can hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "caffe/core/unsupported.hpp"
#include "caffe/inference/backends/arena_gaps.hpp"
#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/operand_places.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/test/support/lowered_nets.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

class LoweredNets : public ::testing::TestWithParam<TypesCase> {};

TEST_P(LoweredNets, ComputeTheSame) { ExpectTheSame(cpu::CpuTarget(), GetParam(), 30); }

TEST_P(LoweredNets, ComputeTheSameInEachLayout) {
  for (const Layout::Kind layout : cpu::CpuTarget().layouts()) {
    ExpectTheSame(cpu::CpuTarget(), GetParam(), 10, layout);
  }
}

TEST_P(LoweredNets, ComputeTheSameInTilesOfAmx) {
  const kernels::InstructionSet before = kernels::CpuInstructionSet();
  kernels::SetCpuInstructionSet(kernels::InstructionSet::Named("emulated_amx"));
  ExpectTheSame(cpu::CpuTarget(), GetParam(), 15);
  kernels::SetCpuInstructionSet(before);
}

TEST_P(LoweredNets, ComputeTheSameInASmallerBatch) {
  ExpectTheSameInASmallerBatch(cpu::CpuTarget(), GetParam(), 20);
}

TEST(LoweredNets, UseEveryImplementationAtSomeTime) {
  std::set<std::string> names = NamesOf(cpu::CpuTarget());
  if (!onednn::Enabled()) names.erase("onednn");
  if (!kernels::HasSaturatingByteProducts()) names.erase("int8_small_pairs");
  const bool wide = kernels::Includes(kernels::FoundCpuFeatures(), kernels::CpuFeatures::AVX512);
  if (!onednn::Enabled() || !wide) {
    names.erase("onednn_bf16");
    names.erase("onednn_bf16_inner_product");
  }
  if (!kernels::VectorInstructionSet().row().pairs) names.erase("packed_bf16");
  // oneDNN's fast convolutions of BFLOAT16 are of blocks of 16 channels.
  if (cpu::ChannelBlock() < 16) names.erase("onednn_bf16");
  EXPECT_EQ(NeverUsed(cpu::CpuTarget(), names), std::set<std::string>());
}

/// All candidates take the same time, but writing 8-bit integers takes this much.
class EvenTiming : public Timing {
 public:
  explicit EvenTiming(double integers)
      : Timing(cpu::CpuTarget(), 0, nullptr, 0), integers_(integers) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    Timing::Of(context, node, candidate);
    return 1e6 * (candidate.outputs[0].type == ElementType::INT8 ? integers_ : 1);
  }

 private:
  const double integers_;
};

/// Branches that are joined, and pooled.
const char kFire[] = R"(
  name: 'fire' state { phase: TEST }
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 16 dim: 8 dim: 8
    } } }
  layer { name: 'squeeze' type: 'Convolution' bottom: 'data' top: 'squeeze'
    convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'squeeze' top: 'squeeze' }
  layer { name: 'one' type: 'Convolution' bottom: 'squeeze' top: 'one'
    convolution_param { num_output: 32 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'relu1' type: 'ReLU' bottom: 'one' top: 'one' }
  layer { name: 'three' type: 'Convolution' bottom: 'squeeze' top: 'three'
    convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'relu3' type: 'ReLU' bottom: 'three' top: 'three' }
  layer { name: 'join' type: 'Concat' bottom: 'one' bottom: 'three' top: 'join' }
  layer { name: 'pool' type: 'Pooling' bottom: 'join' top: 'pool'
    pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: 'last' type: 'Convolution' bottom: 'pool' top: 'last'
    convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'xavier' } } })";

/// Types in which the blobs between the layers lie when writing integers takes so much longer.
std::set<ElementType> TypesBetween(double integers, const std::set<ElementType>& maths) {
  Net<float> net(ParseNet(kFire));
  Blob<float>& data = *net.input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
  net.Forward();
  const CalibrationTable table = TableOf(net);
  const auto lower = [&](Graph optimized) {
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), maths);
    options.ranges = RangesOf(optimized, table, std::vector<bool>(optimized.nodes.size(), true));
    EvenTiming timing(integers);
    return Lower(std::move(optimized), options, &timing);
  };
  const Graph graph = LoweredBy(lower, GraphOf(net));
  std::set<ElementType> types;
  for (const char* name : {"squeeze", "one", "three", "join", "pool"}) {
    types.insert(graph.values[graph.FindValue(name)].type);
  }
  return types;
}

/// The kernels of this library take so many times as long as those that need OpenMP; others much
/// longer.
class OwnKernelsTiming : public Timing {
 public:
  explicit OwnKernelsTiming(double own) : Timing(cpu::CpuTarget(), 0, nullptr, 0), own_(own) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    Timing::Of(context, node, candidate);
    if (std::string(candidate.implementation->name()) == "layer") return 1e8;
    return 1e6 * (candidate.implementation->NeedsOpenMp(context.graph, node) ? 1 : own_);
  }

 private:
  const double own_;
};

// Then loops are shared by threads that wait for none that is kept off its core.
TEST(Lowering, TakesKernelsWithoutOpenMpWhereAllOfThemTakeLittleLonger) {
  if (!onednn::Enabled()) GTEST_SKIP() << "a build without oneDNN";
  Net<float> net(ParseNet(kFire));
  const auto needs_openmp = [&](double own) {
    const auto lower = [&](Graph optimized) {
      LoweringOptions options;
      options.maths.assign(optimized.nodes.size(), {ElementType::FLOAT});
      options.ranges.resize(optimized.values.size());
      OwnKernelsTiming timing(own);
      return Lower(std::move(optimized), options, &timing);
    };
    const Graph graph = LoweredBy(lower, GraphOf(net));
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      return ImplementationOf(cpu::CpuTarget(), node.implementation).NeedsOpenMp(graph, node);
    });
  };
  EXPECT_FALSE(needs_openmp(0.9));
  EXPECT_FALSE(needs_openmp(1.02));
  EXPECT_TRUE(needs_openmp(1.2));
}

TEST(Lowering, TakesTheNarrowTypeWhereTimesAreAlike) {
  const std::set<ElementType> maths = {ElementType::INT8, ElementType::FLOAT};
  EXPECT_EQ(TypesBetween(1, maths), std::set<ElementType>{ElementType::UINT8});
  EXPECT_EQ(TypesBetween(1.01, maths), std::set<ElementType>{ElementType::UINT8});
  EXPECT_EQ(TypesBetween(1.5, maths), std::set<ElementType>{ElementType::FLOAT});
}

TEST(Lowering, BlobsBetweenInt8LayersLieInBytesWhateverIsMeasured) {
  EXPECT_EQ(TypesBetween(1.5, {ElementType::INT8}), std::set<ElementType>{ElementType::UINT8});
}

TEST(Lowering, TimesOfNarrowTypesAreWeightedByTheirBytes) {
  EXPECT_DOUBLE_EQ(WeightedTime(100, 8, 8), 102);
  EXPECT_DOUBLE_EQ(WeightedTime(100, 2, 8), 100.5);
  EXPECT_DOUBLE_EQ(WeightedTime(100, 0, 0), 100);
}

// Reorders for a layer's bottoms are added before the layers behind it are rewritten.
TEST(Lowering, AReorderTakesNoLayersName) {
  const auto named = [](const std::string& second) {
    const Net<float> net(ParseNet(
        "state { phase: TEST } layer { name: 'data' type: 'Input' top: 'data' "
        "input_param { shape { dim: 1 dim: 16 dim: 4 dim: 4 } } }"
        "layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'a' convolution_param { "
        "num_output: 16 kernel_size: 1 } }"
        "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { "
        "num_output: 16 kernel_size: 1 } }"
        "layer { name: '" +
        second +
        "' type: 'Convolution' bottom: 'b' top: 'c' "
        "convolution_param { num_output: 16 kernel_size: 1 } }"));
    std::vector<std::string> reorders;
    const Graph graph = Lowered(cpu::CpuTarget(), GraphOf(net), {ElementType::FLOAT}, 2, nullptr,
                                QuantizationScheme::SYMMETRIC, Layout::CHANNELS_BLOCKED);
    for (const Node& node : graph.nodes) {
      if (node.type() == kReorder) reorders.push_back(node.name());
    }
    graph.Validate();
    return reorders;
  };
  const std::vector<std::string> before = named("c");
  ASSERT_FALSE(before.empty());
  std::vector<std::string> expected = before;
  expected[0] += "_2";
  EXPECT_EQ(named(before[0]), expected);
}

/// The CPU with times that a test sets.
class CpuWithTimes : public Target {
 public:
  const char* name() const override { return cpu_.name(); }
  const std::vector<const Implementation*>& implementations() const override {
    return cpu_.implementations();
  }
  const Implementation& reorder() const override { return cpu_.reorder(); }
  const Implementation& any_layer() const override { return cpu_.any_layer(); }
  const std::vector<Layout::Kind>& layouts() const override { return cpu_.layouts(); }
  int block(ElementType type) const override { return cpu_.block(type); }
  size_t alignment() const override { return cpu_.alignment(); }
  bool takes_unsigned() const override { return cpu_.takes_unsigned(); }
  bool fuses_integer_sums() const override { return cpu_.fuses_integer_sums(); }
  std::string TimingKey() const override { return cpu_.TimingKey(); }
  double RelativeTime(const Candidate& candidate) const override {
    return cpu_.RelativeTime(candidate);
  }

 protected:
  const Target& cpu_ = cpu::CpuTarget();
};

/// On which oneDNN's first run is disturbed and takes a bit longer than all other ways.
class DisturbedTarget : public CpuWithTimes {
 public:
  double Measure(const Graph& graph, const Node& node, int, size_t workspace) const override {
    cpu_.Measure(graph, node, 0, workspace);
    const double time = node.type() == kReorder ? 0.01 : node.implementation == "onednn" ? 10 : 20;
    const std::string way = Join(node.name(), node.implementation, graph.values[0].layout);
    return runs_[way]++ == 0 && time == 10 ? 25 : time;
  }

 private:
  mutable std::map<std::string, int> runs_;
};

TEST(Lowering, WhatIsNearTheFastestIsTimedAgain) {
  if (!onednn::Enabled()) GTEST_SKIP() << "a build without oneDNN";
  Net<float> net(ParseNet(kFire));
  const DisturbedTarget target;
  std::set<std::string> used;
  const auto lower = [&](Graph optimized) {
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), {ElementType::FLOAT});
    options.ranges.resize(optimized.values.size());
    Timing timing(target, 1, nullptr, 0);
    Graph lowered = Lower(std::move(optimized), options, &timing);
    for (const Node& node : lowered.nodes) {
      if (node.type() == "Convolution") used.insert(node.implementation);
    }
    return lowered;
  };
  LoweredBy(lower, GraphOf(net));
  EXPECT_EQ(used, std::set<std::string>{"onednn"});
}

/// The CPU with another result of measuring one implementation.
class InterruptedTarget : public CpuWithTimes {
 public:
  InterruptedTarget(std::string implementation, std::function<void()> interrupt)
      : implementation_(std::move(implementation)), interrupt_(std::move(interrupt)) {}
  double Measure(const Graph&, const Node& node, int, size_t) const override {
    if (node.implementation == implementation_) interrupt_();
    return 1;
  }

 private:
  const std::string implementation_;
  const std::function<void()> interrupt_;
};

/// What the layers of a net could be computed by, in floats.
std::vector<LayerCandidates> CandidatesIn(const Target& target, const Net<float>& net) {
  std::vector<LayerCandidates> all;
  const auto lower = [&](Graph optimized) {
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), {ElementType::FLOAT});
    options.ranges.resize(optimized.values.size());
    options.on_candidates = [&](const LayerCandidates& layer) { all.push_back(layer); };
    Timing timing(target, 1, nullptr, 0);
    return Lower(std::move(optimized), options, &timing);
  };
  LoweredBy(lower, GraphOf(net));
  return all;
}

std::string ReasonOf(const LayerCandidates& layer, const std::string& implementation) {
  for (const LayerCandidates::Rejected& way : layer.rejected) {
    if (way.implementation == implementation) return way.reason;
  }
  return "";
}

TEST(Lowering, AKernelThatFailsEndsTheBuild) {
  const Net<float> net(ParseNet(kFire));
  const InterruptedTarget target("packed", [] { Fail("it has burnt"); });
  ExpectContains(ErrorOf([&] { CandidatesIn(target, net); }),
                 "layer 'squeeze' (Convolution): implementation 'packed' in FLOAT fails: it has "
                 "burnt");
  const InterruptedTarget other("packed", [] { throw std::runtime_error("of a library"); });
  ExpectContains(ErrorOf([&] { CandidatesIn(other, net); }), "'packed' in FLOAT fails: of a lib");
}

TEST(Lowering, WhatAKernelDeclaresImpossibleIsLeftOutWithTheReason) {
  const Net<float> net(ParseNet(kFire));
  for (const auto& [why, interrupt] : std::map<std::string, std::function<void()>>{
           {"has no plan", [] { throw Unsupported("has no plan"); }},
           {"needs more memory than there is", [] { throw std::bad_alloc(); }}}) {
    const auto layers = CandidatesIn(InterruptedTarget("packed", interrupt), net);
    ASSERT_FALSE(layers.empty());
    EXPECT_EQ(ReasonOf(layers[0], "packed"), "FLOAT: " + why);
    for (const auto& way : layers[0].possible) EXPECT_NE(way.implementation, "packed");
  }
}

// A layer may refuse random numbers, as Embed does.
TEST(Lowering, ALayerThatRefusesWhatItIsTimedWithRunsAllTheSame) {
  Net<float> net(ParseNet(R"(
      name: 'refusing' state { phase: TEST }
      layer { name: 'data' type: 'Input' top: 'data'
        input_param { shape { dim: 2 dim: 8 dim: 4 dim: 4 } } }
      layer { name: 'norm' type: 'MVN' bottom: 'data' top: 'norm' })"));
  const InterruptedTarget target("layer", [] { Fail("index 7 is out of range"); });
  const auto layers = CandidatesIn(target, net);
  ASSERT_EQ(layers.size(), 1u);
  ASSERT_EQ(layers[0].possible.size(), 1u);
  EXPECT_TRUE(layers[0].possible[0].is_chosen);
  EXPECT_EQ(layers[0].possible[0].implementation, "layer");
}

TEST(Lowering, ToldIsWhatCouldComputeALayerAndWhyTheRestCouldNot) {
  for (const unsigned seed : Seeds(15)) {
    const std::unique_ptr<Net<float>> net = RandomNet(seed).Make();
    net->Forward();
    const CalibrationTable table = TableOf(*net);
    for (const bool int8 : {false, true}) {
      const auto lower = [&](Graph graph) {
        graph = SplitEpilogues(std::move(graph));
        LoweringOptions options;
        options.maths.assign(graph.nodes.size(),
                             {int8 ? ElementType::INT8 : ElementType::FLOAT, ElementType::FLOAT});
        options.ranges = RangesOf(graph, table, std::vector<bool>(graph.nodes.size(), int8));
        size_t told = 0;
        options.on_candidates = [&](const LayerCandidates& layer) {
          EXPECT_EQ(layer.layers[0], graph.nodes[told].name());
          EXPECT_EQ(layer.layers.size(), 1 + graph.nodes[told].epilogue.size());
          EXPECT_EQ(layer.type, graph.nodes[told++].type());
          std::set<std::string> named;
          int chosen = 0;
          for (const auto& way : layer.possible) {
            named.insert(way.implementation.substr(0, way.implementation.find(':')));
            chosen += way.is_chosen;
          }
          EXPECT_EQ(chosen, 1) << layer.layers[0];
          for (const auto& way : layer.rejected) {
            named.insert(way.implementation.substr(0, way.implementation.find(':')));
            EXPECT_NE(way.reason, "has no kernel for it")
                << way.implementation << " gives no reason for " << layer.type;
          }
          for (const Implementation* each : cpu::CpuTarget().implementations()) {
            EXPECT_EQ(named.count(each->name()), 1u) << each->name();
          }
        };
        RandomTiming timing(cpu::CpuTarget(), seed);
        Graph lowered = Lower(graph, options, &timing);
        EXPECT_EQ(told, graph.nodes.size());
        return lowered;
      };
      LoweredBy(lower, GraphOf(*net));
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// The scratch memory of steps that are bound to no memory is that of their runs.
TEST(Lowering, ScratchMemoryIsKnownWithoutARunner) {
  Net<float> net(ParseNet(kFire));
  BuilderConfig config;
  config.timing_iterations = 0;
  const auto engine = Builder(config).Build(NetworkDefinition(GraphOf(net)));
  const std::vector<size_t> scratch = ScratchBytes(*engine->graph(), cpu::CpuTarget());
  EXPECT_EQ(scratch.size(), engine->graph()->nodes.size());
  const ArenaGaps gaps(*engine->graph());
  size_t bytes = engine->graph()->arena_bytes;
  for (size_t i = 0; i < scratch.size(); ++i) {
    bytes = std::max(bytes, gaps.Place(i, scratch[i]) + scratch[i]);
  }
  // The runner's memory: the arena, and what lies elsewhere: inputs and outputs.
  size_t others = 0;
  for (const auto* values : {&engine->graph()->inputs, &engine->graph()->outputs}) {
    for (const int value : *values) others += BytesOf(engine->graph()->values[value]);
  }
  EXPECT_EQ(engine->activation_bytes(), bytes + others);
}

// A single candidate is not timed: its time must not count as 0 where it is one of several.
TEST(Lowering, WhatIsNotTimedIsNotKeptAsATime) {
  Net<float> net(ParseNet(R"(
      name: 'maxima' state { phase: TEST }
      layer { name: 'data' type: 'Input' top: 'data'
        input_param { shape { dim: 64 dim: 512 } } }
      layer { name: 'first' type: 'Eltwise' bottom: 'data' bottom: 'data' top: 'first'
        eltwise_param { operation: MAX } }
      layer { name: 'second' type: 'Eltwise' bottom: 'first' bottom: 'first' top: 'second'
        eltwise_param { operation: MAX } })"));
  Graph graph = GraphOf(net);
  LoweringOptions options;
  options.maths.assign(graph.nodes.size(), {ElementType::INT8, ElementType::FLOAT});
  options.ranges.resize(graph.values.size());
  for (const char* name : {"data", "first"}) options.ranges[graph.FindValue(name)].scale = 0.1f;
  TimingCache cache;
  Timing timing(cpu::CpuTarget(), 1, &cache, 0);
  Lower(std::move(graph), options, &timing);
  const std::string file = NewFileName();
  cache.Write(file);
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  int times = 0;
  for (double time; lines >> time && std::getline(lines, line); ++times) EXPECT_GT(time, 0) << line;
  EXPECT_GT(times, 1);
}

TEST(Lowering, ConvolutionsThatOnlyOneDnnComputesStayFloatWhereTheirWeightsAreMany) {
  Net<float> net(ParseNet(R"(
      name: 'volume' state { phase: TEST }
      layer { name: 'data' type: 'Input' top: 'data'
        input_param { shape { dim: 1 dim: 512 dim: 4 dim: 4 dim: 4 } } }
      layer { name: 'volume' type: 'Convolution' bottom: 'data' top: 'volume'
        convolution_param { num_output: 1 kernel_size: 3 weight_filler { type: 'xavier' } } })"));
  Blob<float>& data = *net.input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
  net.Forward();
  const Graph graph = Lowered(cpu::CpuTarget(), GraphOf(net), {ElementType::FLOAT16}, 0);
  ExpectSame(OutputsOf(net), RunGraph(graph, InputsOf(net)), 1e-2);
}

// Winograd's algorithm would spoil whole tiles, with blobs and weights of whatever types.
TEST(LoweredNets, AnInfinitySpoilsTheOutputsThatItBelongsTo) {
  Net<float> net(ParseNet(R"(
      name: 'one' state { phase: TEST }
      layer { name: 'data' type: 'Input' top: 'data'
        input_param { shape { dim: 1 dim: 16 dim: 9 dim: 9 } } }
      layer { name: 'one' type: 'Convolution' bottom: 'data' top: 'one'
        convolution_param { num_output: 16 kernel_size: 3 pad: 1
          weight_filler { type: 'xavier' } } }
      layer { name: 'sum' type: 'Eltwise' bottom: 'data' bottom: 'one' top: 'sum' })"));
  Blob<float>& data = *net.input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
  data.mutable_cpu_data()[3 * 81 + 40] = INFINITY;
  net.Forward();
  const Floats expected = OutputsOf(net).at("sum");
  std::set<std::string> used;
  for (unsigned round = 0; round < 60; ++round) {
    const unsigned seed = TestSeed() + round;
    SCOPED_TRACE(seed);
    const Graph graph =
        Lowered(cpu::CpuTarget(), GraphOf(net),
                {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16}, seed);
    for (const Node& node : graph.nodes) used.insert(node.implementation);
    const Floats sums = RunGraph(graph, InputsOf(net)).at("sum");
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::isfinite(sums[i]), std::isfinite(expected[i])) << i;
      if (!std::isfinite(sums[i])) continue;
      ASSERT_NEAR(sums[i], expected[i], 0.05) << i;
    }
  }
  EXPECT_TRUE(used.count("winograd"));
}

TEST(Lowering, VariantsThatAnImplementationDoesNotHaveAreRefused) {
  Net<float> net(ParseNet(kFire));
  Graph graph = Lowered(cpu::CpuTarget(), GraphOf(net), {ElementType::FLOAT}, 0);
  graph.nodes[0].implementation += ":other";
  const std::string message =
      ErrorOf([&] { MakeRunner(std::make_shared<const Graph>(std::move(graph))); });
  ExpectContains(message, "has no variants");
  ExpectContains(message, ":other");
}

INSTANTIATE_TEST_SUITE_P(Types, LoweredNets, ::testing::ValuesIn(kTypesCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caffe::inference
