// The CPU backend against the reference one: whatever implementations, types and layouts are
// chosen, the outputs are those of the net, to what the types can hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/backends/split_epilogues.hpp"
#include "caffe/inference/quantize/equalization.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/onednn/onednn.hpp"
#include "inference_test.hpp"
#include "random_nets.hpp"
#include "test_files.hpp"

namespace caffe {
namespace inference {
namespace {

/// Times out of the hat, so that everything that can be chosen is chosen at some time.
class RandomTiming : public Timing {
 public:
  explicit RandomTiming(unsigned seed) : Timing(cpu::CpuTarget(), 0, nullptr, 0), random_(seed) {}
  std::optional<double> Of(const LoweringContext& context, const Node& node,
                           const Candidate& candidate) override {
    const auto time = Timing::Of(context, node, candidate);
    if (!time) return time;
    return static_cast<double>(random_() % 1000) * 1000;
  }

 private:
  std::mt19937 random_;
};

/// Lowers with weights in one of `maths`.
Graph Lowered(Graph graph, const std::set<ElementType>& maths, unsigned seed,
              const CalibrationTable* table = nullptr) {
  return Optimize(std::move(graph), {}, nullptr, [&](Graph optimized) {
    if (seed % 2) optimized = SplitEpilogues(std::move(optimized));
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), maths);
    options.ranges.resize(optimized.values.size());
    const std::vector<bool> integers(optimized.nodes.size(), maths.count(ElementType::INT8) > 0);
    if (table) {
      options.ranges = RangesOf(optimized, *table, integers);
      optimized = EqualizeChannels(std::move(optimized), *table, options.ranges);
    }
    RandomTiming timing(seed);
    return Lower(std::move(optimized), options, &timing);
  });
}

/// Every blob's own range, and those of its channels.
CalibrationTable TableOf(const Net<float>& net) {
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
struct Case {
  const char* name;
  std::set<ElementType> maths;
  double bound;
  double least = 1;  // the size of values in the net, which small outputs are differences of
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class LoweredNets : public ::testing::TestWithParam<Case> {};

void ExpectTheSame(const Case& c, int nets) {
  for (const unsigned seed : Seeds(nets)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const Graph original = GraphOf(*net);
    const CalibrationTable table = TableOf(*net);
    const Graph graph = Lowered(original, c.maths, seed, &table);
    SCOPED_TRACE(ToText(graph));
    ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net)), c.bound, c.least);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(LoweredNets, ComputeTheSame) { ExpectTheSame(GetParam(), 30); }

TEST_P(LoweredNets, ComputeTheSameInTilesOfAmx) {
  const kernels::InstructionSet before = kernels::CpuInstructionSet();
  kernels::SetCpuInstructionSet(kernels::InstructionSet::EMULATED_AMX);
  ExpectTheSame(GetParam(), 15);
  kernels::SetCpuInstructionSet(before);
}

TEST_P(LoweredNets, ComputeTheSameInASmallerBatch) {
  for (const unsigned seed : Seeds(20)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const Graph original = WithBatch(GraphOf(*net), 5);
    const CalibrationTable table = TableOf(*net);
    const Graph graph = Lowered(original, GetParam().maths, seed, &table);
    SCOPED_TRACE(ToText(graph));
    const int batch = net->input_blobs()[0]->shape(0);
    ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net), batch), GetParam().bound,
               GetParam().least);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(LoweredNets, UseEveryImplementationAtSomeTime) {
  std::set<std::string> missing;
  for (const Implementation* implementation : cpu::CpuTarget().implementations()) {
    missing.insert(implementation->name());
  }
  if (!onednn::Enabled()) missing.erase("onednn");
  const std::set<ElementType> all = {ElementType::FLOAT, ElementType::FLOAT16,
                                     ElementType::BFLOAT16, ElementType::INT8};
  for (unsigned seed = 0; seed < 1000 && !missing.empty(); ++seed) {
    const std::unique_ptr<Net<float>> net = RandomNet(seed).Make();
    net->Forward();
    const Graph original = GraphOf(*net);
    const CalibrationTable table = TableOf(*net);
    const Graph graph = Lowered(original, all, seed, &table);
    for (const Node& node : graph.nodes) missing.erase(node.implementation);
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

/// Every way takes as long as every other, but writing 8-bit integers this much.
class EvenTiming : public Timing {
 public:
  explicit EvenTiming(double integers)
      : Timing(cpu::CpuTarget(), 0, nullptr, 0), integers_(integers) {}
  std::optional<double> Of(const LoweringContext& context, const Node& node,
                           const Candidate& candidate) override {
    if (!Timing::Of(context, node, candidate)) return std::nullopt;
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
std::set<ElementType> TypesBetween(double integers) {
  Net<float> net(ParseNet(kFire));
  Blob<float>& data = *net.input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
  net.Forward();
  const CalibrationTable table = TableOf(net);
  const Graph graph = Optimize(GraphOf(net), {}, nullptr, [&](Graph optimized) {
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), {ElementType::INT8});
    options.ranges = RangesOf(optimized, table, std::vector<bool>(optimized.nodes.size(), true));
    EvenTiming timing(integers);
    return Lower(std::move(optimized), options, &timing);
  });
  std::set<ElementType> types;
  for (const char* name : {"squeeze", "one", "three", "join", "pool"}) {
    types.insert(graph.values[graph.FindValue(name)].type);
  }
  return types;
}

TEST(Lowering, TakesTheNarrowTypeWhereTimesAreAlike) {
  EXPECT_EQ(TypesBetween(1), std::set<ElementType>{ElementType::UINT8});
  EXPECT_EQ(TypesBetween(1.05), std::set<ElementType>{ElementType::UINT8});
  EXPECT_EQ(TypesBetween(1.5), std::set<ElementType>{ElementType::FLOAT});
}

TEST(Lowering, TimesOfNarrowTypesAreWeightedByTheirBytes) {
  EXPECT_DOUBLE_EQ(WeightedTime(100, 8, 8), 110);
  EXPECT_DOUBLE_EQ(WeightedTime(100, 2, 8), 102.5);
  EXPECT_DOUBLE_EQ(WeightedTime(100, 0, 0), 100);
}

const std::vector<Case> kCases = {
    {"Float", {ElementType::FLOAT}, 2e-5, 0.1},
    {"Float16", {ElementType::FLOAT16}, 2e-2},
    {"Mixed", {ElementType::FLOAT, ElementType::FLOAT16}, 2e-2},
    {"Bfloat16", {ElementType::BFLOAT16}, 0.1},
    {"Int8", {ElementType::INT8}, 0.3},
    {"Everything",
     {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::INT8},
     0.3},
};
INSTANTIATE_TEST_SUITE_P(Types, LoweredNets, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace inference
}  // namespace caffe
