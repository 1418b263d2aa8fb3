// Depthwise separable convolutions that become one node: which ones do, and that what they compute
// stays the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/joined_layers.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/inverted_residuals.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

namespace caffe::inference {
namespace {

/// Channels in blocks are fastest for every layer, and joined blocks, of one variant, than
/// anything.
class BlocksTiming : public Timing {
 public:
  explicit BlocksTiming(const std::string& variant)
      : Timing(cpu::CpuTarget(), 1, nullptr, 0), variant_(variant) {}
  double Of(const LoweringContext&, const Node&, const Candidate& candidate) override {
    const auto blocked = [](const Format& format) {
      return format.layout == Layout::CHANNELS_BLOCKED;
    };
    const bool all = std::all_of(candidate.inputs.begin(), candidate.inputs.end(), blocked) &&
                     std::all_of(candidate.outputs.begin(), candidate.outputs.end(), blocked);
    return all ? 10 : 1000;
  }
  double OfLowered(const Graph& graph, const std::vector<Shape>& shapes,
                   const Node& node) override {
    EXPECT_GT(Timing::OfLowered(graph, shapes, node), 0) << "it runs alone";
    return VariantOf(node) == variant_ ? 1 : 1e9;
  }

 private:
  const std::string variant_;
};

/// Two inverted residuals, one with a residual, and a separable convolution that nothing expands.
const std::string kBlocksNet = std::string(kTwoResiduals) + R"(
  layer { name: "pool" type: "Pooling" bottom: "linear2" top: "pool"
          pooling_param { kernel_size: 2 stride: 1 } }
  layer { name: "dw3" type: "Convolution" bottom: "pool" top: "dw3"
          convolution_param { num_output: 21 group: 21 kernel_size: 3 pad: 1
                              weight_filler { type: "msra" } } }
  layer { name: "linear3" type: "Convolution" bottom: "dw3" top: "out"
          convolution_param { num_output: 8 kernel_size: 1 weight_filler { type: "msra" } } }
)";

/// Lowered for weights of type `math`, of one layer in another one.
Graph LoweredBlocks(const Net<float>& net, ElementType math, const std::string& variant,
                    const std::string& exception = "",
                    const std::function<void(const LayerCandidates&)>& on_candidates = nullptr) {
  const auto lower = [&](Graph graph) {
    LoweringOptions options;
    for (const Node& node : graph.nodes) {
      options.maths.push_back({node.name() == exception ? ElementType::FLOAT : math});
    }
    options.ranges.resize(graph.values.size());
    BlocksTiming timing(variant);
    graph = ChooseImplementations(std::move(graph), options, &timing);
    graph = JoinLayers(std::move(graph), &timing, on_candidates);
    return PackWeights(std::move(graph), timing.target());
  };
  return LoweredBy(lower, GraphOf(net));
}

std::vector<std::string> JoinedIn(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (IsJoined(node)) names.push_back(node.name());
  }
  return names;
}

using Names = std::vector<std::string>;

struct BlocksCase {
  const char* name;
  ElementType math;
  const char* variant;
  double bound;
};

class SeparableBlockEngines : public ::testing::TestWithParam<BlocksCase> {};

TEST_P(SeparableBlockEngines, ComputeWhatTheNetDoes) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  const BlocksCase& c = GetParam();
  const Graph graph = LoweredBlocks(*net, c.math, c.variant);
  SCOPED_TRACE(ToText(graph));
  EXPECT_EQ(JoinedIn(graph), (Names{"expand", "expand2", "dw3"}));
  ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net)), c.bound);
  // In a smaller batch.
  const NamedValues one = RunGraph(graph, InputsOf(*net), 1);
  NamedValues first = OutputsOf(*net);
  first["out"].resize(first["out"].size() / 2);
  ExpectSame(first, one, c.bound);
}

INSTANTIATE_TEST_SUITE_P(
    Types, SeparableBlockEngines,
    ::testing::Values(BlocksCase{"FloatByRows", ElementType::FLOAT, "rows", 2e-5},
                      BlocksCase{"FloatByChannels", ElementType::FLOAT, "channels", 2e-5},
                      BlocksCase{"Float16", ElementType::FLOAT16, "rows", 1e-2},
                      BlocksCase{"BFloat16", ElementType::BFLOAT16, "channels", 8e-2}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(SeparableBlocks, BecomeStepsOfTheFirstLayersEpilogue) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  const Graph graph = LoweredBlocks(*net, ElementType::FLOAT, "rows");
  const Node& node = graph.nodes[graph.FindNode("expand")];
  EXPECT_EQ(node.implementation, "separable:rows");
  Names steps;
  for (const Epilogue& step : node.epilogue) steps.push_back(step.layer.name());
  EXPECT_EQ(steps, (Names{"relu1", "dw", "relu2", "linear", "sum"}));
  EXPECT_EQ(graph.values[node.outputs[0]].name, "sum");
  EXPECT_LT(graph.FindValue("expand"), 0) << "a value between needs no memory";
  EXPECT_LT(graph.FindValue("dw"), 0);
  EXPECT_LT(graph.FindNode("dw"), 0);
  // 9 x 10 pixels of 2 images: 24 to 72, 9 for each of 72, 72 to 24.
  EXPECT_EQ(ProductsByLayer(graph, ShapesFor(graph, InputShapes(graph, 2))).at("expand"),
            2 * 90 * (24 * 72 + 9 * 72 + 72 * 24));
  for (const Epilogue& step : node.epilogue) {
    if (step.layer.type() == "Convolution") {
      EXPECT_TRUE(step.parameters.empty()) << "packed";
    }
  }
  EXPECT_EQ(node.parameters.size(), 6u);
}

TEST(SeparableBlocks, AreKeptInPlans) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  const Graph graph = LoweredBlocks(*net, ElementType::FLOAT, "rows");
  const std::string file = NewFileName();
  Engine(graph).Save(file);
  const auto loaded = Engine::Load(file);
  ExpectSame(RunGraph(graph, InputsOf(*net)), RunGraph(*loaded->graph(), InputsOf(*net)), 0);
}

TEST(SeparableBlocks, AreReportedWithWhatTheyAreComparedWith) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  std::vector<LayerCandidates> all;
  LoweredBlocks(*net, ElementType::FLOAT, "channels", "",
                [&](const LayerCandidates& candidates) { all.push_back(candidates); });
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].layers, (Names{"expand", "relu1", "dw", "relu2", "linear", "sum"}));
  Names ways;
  for (const LayerCandidates::Possible& way : all[0].possible) {
    ways.push_back(way.implementation);
    EXPECT_EQ(way.is_chosen, way.implementation == "separable:channels") << way.implementation;
  }
  EXPECT_EQ(ways, (Names{"apart", "separable:rows", "separable:channels"}));
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SeparableBlocks, AreNotJoinedWhereSomethingElseIsThere) {
  const auto joined = [](const std::string& text, const std::string& exception = "") {
    const std::unique_ptr<Net<float>> net = NetOfSines(text);
    const Graph graph = LoweredBlocks(*net, ElementType::FLOAT16, "rows", exception);
    ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net)), 2e-2);
    return JoinedIn(graph);
  };
  EXPECT_EQ(joined(kBlocksNet), (Names{"expand", "expand2", "dw3"}));
  EXPECT_EQ(joined(kBlocksNet, "linear2"), (Names{"expand", "dw3"})) << "another type";
  EXPECT_EQ(joined(kBlocksNet, "expand"), (Names{"dw", "expand2", "dw3"}))
      << "another type in front";
  EXPECT_EQ(joined(std::string(kBlocksNet) + R"(
              layer { name: "also" type: "Pooling" bottom: "dw" top: "also"
                      pooling_param { kernel_size: 2 } })"),
            (Names{"expand2", "dw3"}))
      << "a value between is read by another layer";
  EXPECT_EQ(joined(std::string(kBlocksNet) + R"(
              layer { name: "also" type: "Pooling" bottom: "expand" top: "also"
                      pooling_param { kernel_size: 2 } })"),
            (Names{"dw", "expand2", "dw3"}))
      << "what is expanded is read by another layer";
  EXPECT_EQ(joined(Replaced(kBlocksNet, "kernel_size: 5 pad: 2 stride: 2",
                            "kernel_size: 3 pad: 2 dilation: 2")),
            (Names{"expand", "dw3"}))
      << "no kernel for a dilation";
  EXPECT_EQ(joined(Replaced(kBlocksNet, "num_output: 72 group: 72", "num_output: 72 group: 36")),
            (Names{"expand2", "dw3"}))
      << "not depthwise";
}

TEST(SeparableBlocks, ThatAreSlowerStayApart) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  EXPECT_EQ(JoinedIn(LoweredBlocks(*net, ElementType::FLOAT, "none")), Names());
}

/// Times of all ways of computing the net, in which FLOAT16 and joined blocks are faster.
std::shared_ptr<TimingCache> CacheForHalves(const NetworkDefinition& net) {
  BuilderConfig config;
  config.timing_iterations = 1;
  config.timing_cache = std::make_shared<TimingCache>();
  for (const Precision precision : {Precision::FP16, Precision::FP32}) {
    config.precision = precision;
    Builder(config).Build(net);
  }
  const std::string file = NewFileName();
  config.timing_cache->Write(file);
  std::ifstream lines(file);
  std::string text, line;
  std::getline(lines, text);
  text += "\n";
  while (std::getline(lines, line)) {
    const std::string key = line.substr(line.find(' ') + 1);
    const auto has = [&](const char* part) { return key.find(part) != std::string::npos; };
    const bool is_fast = has(" separable:") || has(" reorder ");
    text += std::string(is_fast ? "1" : has(" FLOAT16 ") ? "100" : "1000") + " " + key + "\n";
  }
  return std::make_shared<TimingCache>(NewFile(text));
}

// Each layer is widened by itself, whatever it would be joined with.
TEST(SeparableBlocks, AreTakenApartWhereOneLayerLosesAccuracy) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  const std::string model = NewFile(kBlocksNet), weights = NewFileName() + ".caffemodel";
  NetParameter trained;
  net->ToProto(&trained);
  WriteProtoToBinaryFile(trained, weights);
  const NetworkDefinition definition = NetworkDefinition::FromCaffe(model, {weights});
  BuilderConfig config;
  config.precision = Precision::BEST;
  config.allowed = {Precision::FP16};
  config.timing_iterations = 1;
  config.timing_cache = CacheForHalves(definition);
  config.max_accuracy_loss = 0.5;
  const auto in_half = [](const Engine& engine) {
    std::set<std::string> names;
    for (const Node& node : engine.graph()->nodes) {
      if (!MultipliesWeights(node) || node.math != ElementType::FLOAT16) continue;
      for (const Node& layer : JoinedLayers(node)) names.insert(layer.name());
    }
    return names;
  };
  EXPECT_EQ(JoinedIn(*Builder(config).Build(definition)->graph()),
            (Names{"expand", "expand2", "dw3"}));
  for (const char* const inexact : {"expand", "dw", "linear"}) {
    config.accuracy_loss = [&](const std::shared_ptr<const Engine>& engine) {
      return in_half(*engine).count(inexact) ? 1. : 0.;
    };
    const auto engine = Builder(config).Build(definition);
    std::set<std::string> others = {"first", "expand",  "dw",  "linear", "expand2",
                                    "dw2",   "linear2", "dw3", "linear3"};
    others.erase(inexact);
    EXPECT_EQ(in_half(*engine), others) << inexact;
  }
}

// What a damaged plan may say.
TEST(SeparableBlocks, RefuseWhatTheyCannotCompute) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kBlocksNet);
  const Graph good = LoweredBlocks(*net, ElementType::FLOAT, "rows");
  const int index = good.FindNode("expand");
  const auto expect_error = [&](const char* what, const std::function<void(Node*)>& damage) {
    Graph graph = good;
    damage(&graph.nodes[index]);
    EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << what;
  };
  expect_error("a parameter is missing", [](Node* node) { node->parameters.pop_back(); });
  expect_error("weights are too few", [](Node* node) { node->parameters[0].shape = {5}; });
  expect_error("weights of another type",
               [](Node* node) { node->parameters[2].type = ElementType::INT8; });
  expect_error("a fourth convolution", [](Node* node) {
    node->epilogue.push_back(node->epilogue[3]);
    node->epilogue.back().layer.set_name("again");
  });
  expect_error("a residual in between",
               [](Node* node) { std::swap(node->epilogue[2], node->epilogue[4]); });
  expect_error("other outputs", [](Node* node) {
    node->epilogue[3].layer.mutable_convolution_param()->set_num_output(23);
  });
  expect_error("another kernel", [](Node* node) {
    node->epilogue[1].layer.mutable_convolution_param()->set_kernel_size(0, 7);
  });
  expect_error("fewer outputs than channels", [](Node* node) {
    node->epilogue[1].layer.set_type("ConvolutionDepthwise");
    node->epilogue[1].layer.mutable_convolution_param()->set_num_output(1);
    node->parameters[3].shape = {1};
  });
  expect_error("no variant", [](Node* node) { node->implementation = "separable"; });
  expect_error("an unknown variant", [](Node* node) { node->implementation = "separable:x"; });
  expect_error("an implementation for one layer",
               [](Node* node) { node->implementation = "packed"; });
  expect_error("an unknown layer", [](Node* node) { node->epilogue[3].layer.set_type("Nothing"); });
  Graph graph = good;
  graph.nodes[graph.FindNode("first")].implementation = "separable:rows";
  EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << "one convolution alone";
}

}  // namespace
}  // namespace caffe::inference
