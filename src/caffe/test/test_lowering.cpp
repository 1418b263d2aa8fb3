// The CPU backend against the reference one: whatever implementations, types and layouts are
// chosen, the outputs are those of the net, to what the types can hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "caffe/inference/backends/cpu/lowering.hpp"
#include "caffe/inference/backends/cpu/split_epilogues.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/onednn/onednn.hpp"
#include "inference_test.hpp"
#include "random_nets.hpp"
#include "test_files.hpp"

namespace caffe {
namespace inference {
namespace {

using cpu::LoweringOptions;

/// Times out of the hat, so that everything that can be chosen is chosen at some time.
class RandomTiming : public cpu::Timing {
 public:
  explicit RandomTiming(unsigned seed) : Timing(0, nullptr, 0), random_(seed) {}
  std::optional<double> Of(const cpu::Context& context, const Node& node,
                           const cpu::Candidate& candidate) override {
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
    if (seed % 2) optimized = cpu::SplitEpilogues(std::move(optimized));
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), maths);
    options.ranges.resize(optimized.values.size());
    const std::vector<bool> integers(optimized.nodes.size(), maths.count(ElementType::INT8) > 0);
    if (table) options.ranges = RangesOf(optimized, *table, integers);
    RandomTiming timing(seed);
    return cpu::Lower(std::move(optimized), options, &timing);
  });
}

/// Every blob's own range.
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
  for (const cpu::Implementation* implementation : cpu::Implementations()) {
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
