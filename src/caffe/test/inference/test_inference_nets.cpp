// Whole nets through the optimizer: the graph of a net computes what the net does, and so does what
// every pass makes of it. Random nets and public ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "caffe/allocator.hpp"
#include "caffe/inference/backends/arena_gaps.hpp"
#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/operand_places.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/passes/memory_plan.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/test/support/corpus_nets.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/random_nets.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

// Of chains of a dozen layers, in which batch normalization enlarges what was rounded before.
constexpr double kRoundingOfNets = 3e-5;
constexpr double kTrainedRounding = 1e-4;

/// The arena of a planned graph is within a tenth of what no plan can do without; with what nodes
/// need for themselves it may take a tenth of weights and activations more.
void ExpectGoodPlan(const Graph& graph, const std::vector<size_t>& scratch = {}) {
  const size_t bound = LargestLiveBytes(Lifetimes(graph, scratch));
  const ArenaGaps gaps(graph);
  size_t bytes = graph.arena_bytes, most = bound + bound / 10;
  for (size_t i = 0; i < scratch.size(); ++i) {
    bytes = std::max(bytes, gaps.Place(i, scratch[i]) + scratch[i]);
  }
  if (!scratch.empty()) {
    size_t weights = 0;
    for (const Node& node : graph.nodes) {
      for (const Constant& parameter : node.parameters) {
        weights += parameter.count() * SizeOf(parameter.type);
      }
    }
    most += (weights + most) / 10;
  }
  EXPECT_GE(bytes + Allocator::kAlignment, bound);
  EXPECT_LE(bytes, most) << ToText(graph);
}

TEST(RandomNets, ComputeTheSameAfterEveryPass) {
  for (const unsigned seed : Seeds(30)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const NamedValues inputs = InputsOf(*net), expected = OutputsOf(*net);
    const auto check = [&](const std::string& pass, const Graph& graph) {
      SCOPED_TRACE("after pass '" + pass + "'\n" + ToText(graph));
      ExpectSame(expected, RunGraph(graph, inputs), kRoundingOfNets);
    };
    ExpectGoodPlan(Optimize(GraphOf(*net), {}, check));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RandomNets, ComputeTheSameWithoutAnyOnePass) {
  for (const unsigned seed : Seeds(10)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    for (const Pass& skipped : Passes()) {
      if (!skipped.can_be_skipped) continue;
      SCOPED_TRACE(skipped.name);
      const Graph graph = Optimize(GraphOf(*net), {skipped.name});
      ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net)), kRoundingOfNets);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// Each item of a batch is computed by itself: the first ones alone give the same.
TEST(RandomNets, ComputeTheSameInASmallerBatch) {
  for (const unsigned seed : Seeds(20)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const Graph built = Optimize(WithBatch(GraphOf(*net), 5));
    const int batch = net->input_blobs()[0]->shape(0);
    ExpectSame(OutputsOf(*net), RunGraph(built, InputsOf(*net), batch), kRoundingOfNets);
    if (::testing::Test::HasFailure()) return;
  }
}

// As it was read, and with nodes joined, constants folded and places planned.
TEST(RandomNets, ComputeTheSameAsTheNetOfTheirGraph) {
  for (const unsigned seed : Seeds(20)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    const Graph graph = GraphOf(*net);
    for (const Graph& written : {graph, Optimize(graph)}) {
      NetworkDefinition read = NetworkDefinition::FromCaffe(ToNetParameter(written), {});
      // In a net what is read is no output.
      for (const int output : written.outputs) read.MarkOutput(written.values[output].name);
      ExpectSame(RunGraph(written, InputsOf(*net)), RunGraph(read.graph(), InputsOf(*net)), 1e-6);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

/// Large nets are run after the last pass only.
bool IsLarge(const Graph& graph) {
  size_t elements = 0;
  for (const Node& node : graph.nodes) {
    for (const Constant& parameter : node.parameters) elements += parameter.count();
  }
  for (const Value& value : graph.values) elements += CountOf(value.shape);
  return elements > 10'000'000;
}

class CorpusGraphs : public ::testing::TestWithParam<string> {};

TEST_P(CorpusGraphs, ComputeTheSameAfterEveryPass) {
  SLOW_TEST();
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::unique_ptr<Net<float>> net = corpus::FilledNet(GetParam());
  Graph graph = GraphOf(*net);  // before Forward: while parameters lie as in Caffe
  net->Forward();
  const NamedValues inputs = InputsOf(*net), expected = OutputsOf(*net);
  const bool large = IsLarge(graph);
  std::string last;
  const auto check = [&](const std::string& pass, const Graph& changed) {
    const std::string text = ToText(changed);
    if (text == last || (large && pass != Passes().back().name)) return;
    last = text;
    SCOPED_TRACE("after pass '" + pass + "'");
    ExpectSame(expected, RunGraph(changed, inputs), kRoundingOfNets);
  };
  graph = Optimize(std::move(graph), {}, check);
  ExpectGoodPlan(graph);
}

/// Folders of trained nets with a description and weights.
std::vector<string> TrainedNets() {
  std::vector<string> names;
  if (!HasSharedData()) return {"none"};
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("models"))) {
    const auto has = [&](const char* file) { return std::filesystem::exists(entry.path() / file); };
    if (has("deploy.prototxt") && has("weights.caffemodel")) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class TrainedGraphs : public ::testing::TestWithParam<string> {};

// From the files to a plan and back: classifiers, detectors with priors and suppression, and
// others.
TEST_P(TrainedGraphs, ComputeTheSameFromAPlan) {
  SLOW_TEST();
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const string folder = SharedData("models/" + GetParam() + "/");
  Net<float> net(folder + "deploy.prototxt", TEST);
  net.CopyTrainedLayersFrom(folder + "weights.caffemodel");
  std::mt19937 random(TestSeed());
  for (Blob<float>* input : net.input_blobs()) {
    for (int i = 0; i < input->count(); ++i) {
      input->mutable_cpu_data()[i] = static_cast<float>(random() % 256) / 255 - 0.5f;
    }
  }
  const NamedValues inputs = InputsOf(net);  // before a layer in place overwrites them
  net.Forward();
  const string plan = NewFileName();
  BuilderConfig config;
  config.timing_iterations = 0;  // inputs of thousands of images would take their time
  Builder(config)
      .Build(
          NetworkDefinition::FromCaffe(folder + "deploy.prototxt", {folder + "weights.caffemodel"}))
      ->Save(plan);
  const auto engine = Engine::Load(plan);
  ExpectGoodPlan(*engine->graph(), ScratchBytes(*engine->graph(), cpu::CpuTarget()));
  ExpectSame(OutputsOf(net), RunGraph(*engine->graph(), inputs), kTrainedRounding);
}

INSTANTIATE_TEST_SUITE_P(Nets, TrainedGraphs, ::testing::ValuesIn(TrainedNets()), corpus::TestName);

INSTANTIATE_TEST_SUITE_P(Nets, CorpusGraphs, ::testing::ValuesIn(corpus::ExpectedNets()),
                         corpus::TestName);

}  // namespace
}  // namespace caffe::inference
