// Convolutions of 8-bit integers that become one node: which ones do, and that their bits stay the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "caffe/core/unsupported.hpp"
#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/joined_layers.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/plan_file.hpp"
#include "caffe/inference/quantize/fused_sums.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "caffe/test/support/chain_nets.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/integer_nets.hpp"
#include "caffe/test/support/lowered_nets.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

class Int8ChainEngines : public ::testing::TestWithParam<QuantizationScheme> {};

TEST_P(Int8ChainEngines, KeepTheBits) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  for (const bool reduces : {false, true}) {
    const Graph joined = LoweredBytes(*net, GetParam(), AlwaysFaster, kBytesInBlocks, reduces);
    SCOPED_TRACE(ToText(joined));
    EXPECT_EQ(ChainsIn(joined),
              (std::vector<Names>{{"expand", "dw", "linear"},
                                  {"expand2", "dw2", "linear2", "dense", "last"}}));
    const Graph apart = LoweredBytes(*net, GetParam(), nullptr, kBytesInBlocks, reduces);
    EXPECT_EQ(ChainsIn(apart), std::vector<Names>());
    for (const int batch : {2, 1}) {
      EXPECT_EQ(RunGraph(joined, InputsOf(*net), batch), RunGraph(apart, InputsOf(*net), batch));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Int8ChainEngines,
                         ::testing::Values(QuantizationScheme::SYMMETRIC,
                                           QuantizationScheme::AFFINE),
                         [](const auto& info) {
                           return info.param == QuantizationScheme::AFFINE ? "Affine" : "Symmetric";
                         });

class IntegerChainEngines : public ::testing::TestWithParam<Way> {};

TEST_P(IntegerChainEngines, KeepTheBits) {
  const Way& way = GetParam();
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const Graph integers = FuseIntegerResiduals(
      InIntegers(GraphOf(*net), RangesOfBlobs(*net), way.scheme, way.rounding));
  ASSERT_TRUE(AllInIntegers(integers)) << ToText(integers);
  ChainTiming timing(AlwaysFaster, kBytesInBlocks);
  const Graph joined = LoweredIntegers(integers, &timing, /*joins=*/true);
  SCOPED_TRACE(ToText(joined));
  const std::vector<Names> all = {{"expand", "dw", "linear"},
                                  {"expand2", "dw2", "linear2", "dense", "last"}};
  // Kernels for blocks of channels take no weights with a zero point.
  const bool has_zero_points = way.scheme == QuantizationScheme::PAPER;
  EXPECT_EQ(ChainsIn(joined), has_zero_points ? std::vector<Names>() : all);
  const Graph apart = LoweredIntegers(integers, &timing);
  EXPECT_EQ(ChainsIn(apart), std::vector<Names>());
  for (const int batch : {2, 1}) {
    EXPECT_EQ(RunGraph(joined, InputsOf(*net), batch), RunGraph(apart, InputsOf(*net), batch));
  }
  const std::string file = NewFileName();
  WritePlan({{joined}, 0}, file);
  EXPECT_EQ(RunGraph(*Engine::Load(file)->graph(), InputsOf(*net)),
            RunGraph(joined, InputsOf(*net)));
}

/// Scale, zero point and multipliers of each layer with weights, by name.
std::map<std::string, std::tuple<float, int, std::vector<int>>> LayerNumbersOf(
    const Engine& engine) {
  std::map<std::string, std::tuple<float, int, std::vector<int>>> all;
  for (const LayerInfo& layer : engine.layers()) {
    if (!layer.integers) continue;  // from and to floats
    EXPECT_EQ(layer.in_integers.size(), 1 + layer.joined.size()) << layer.name;
    for (const IntegerInfo& info : layer.in_integers) {
      std::vector<int> values;
      for (const kernels::Multiplier& multiplier : info.multipliers) {
        values.push_back(multiplier.value);
      }
      if (!values.empty()) all[info.name] = {info.affine.scale, info.affine.zero_point, values};
    }
  }
  return all;
}

TEST(IntegerChainNodes, AreDescribedLayerByLayer) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  ChainTiming timing(AlwaysFaster, kBytesInBlocks);
  const Graph integers = FuseIntegerResiduals(InIntegers(
      GraphOf(*net), RangesOfBlobs(*net), QuantizationScheme::AFFINE, kernels::Rounding::DOUBLE));
  const Engine joined(LoweredIntegers(integers, &timing, /*joins=*/true));
  const Engine apart(LoweredIntegers(integers, &timing));
  EXPECT_EQ(LayerNumbersOf(joined).size(), 9u);
  EXPECT_EQ(LayerNumbersOf(joined), LayerNumbersOf(apart));
  for (const LayerInfo& layer : joined.layers()) {
    if (layer.name != "expand") continue;
    EXPECT_EQ(layer.joined, (Names{"dw", "linear"}));
    ASSERT_EQ(layer.in_integers.size(), 3u);
    ASSERT_TRUE(layer.in_integers[2].sum.has_value());
    EXPECT_EQ(layer.in_integers[2].sum->name, "sum");
    return;
  }
  FAIL() << "there is no layer 'expand'";
}

INSTANTIATE_TEST_SUITE_P(, IntegerChainEngines, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return info.param.name; });

// What a damaged plan may say.
TEST(IntegerChainNodes, RefuseWhatTheyCannotCompute) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  ChainTiming timing(AlwaysFaster, kBytesInBlocks);
  const Graph integers = FuseIntegerResiduals(InIntegers(
      GraphOf(*net), RangesOfBlobs(*net), QuantizationScheme::AFFINE, kernels::Rounding::DOUBLE));
  const Graph good = LoweredIntegers(integers, &timing, /*joins=*/true);
  const int index = good.FindNode("expand");
  const auto expect_error = [&](const char* what, const std::function<void(Node*)>& damage) {
    Graph graph = good;
    damage(&graph.nodes[index]);
    EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << what;
  };
  const auto first = [](Node* node) -> Epilogue& {
    const auto has_weights = [](const Epilogue& step) { return MultipliesWeights(step); };
    return *std::find_if(node->epilogue.begin(), node->epilogue.end(), has_weights);
  };
  expect_error("floats behind integers", [&](Node* node) { first(node).integers.reset(); });
  expect_error("integers behind floats", [&](Node* node) { node->integers.reset(); });
  expect_error("a zero point of weights",
               [&](Node* node) { first(node).integers->weight_zero_point = 3; });
  expect_error("bounds of no bytes", [&](Node* node) { first(node).integers->most = 256; });
  expect_error("a zero point that is no byte",
               [&](Node* node) { first(node).affine.zero_point = 300; });
  expect_error("a parameter is missing", [](Node* node) { node->parameters.pop_back(); });
  expect_error("shifts are too few", [](Node* node) { node->parameters[3].shape = {5}; });
}

Graph SymmetricChains(const Net<float>& net, const TimeOf& time) {
  return LoweredBytes(net, QuantizationScheme::SYMMETRIC, time, kBytesInBlocks);
}

TEST(Int8ChainNodes, AreCutWhereAllTakeTheLeastTime) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const auto joined = [&](const TimeOf& time) { return ChainsIn(SymmetricChains(*net, time)); };
  EXPECT_EQ(joined([](const Names& layers) { return layers.size() == 1 ? 10 : 1000; }),
            std::vector<Names>())
      << "slower ones stay apart";
  // A pair alone may be slower, and three faster.
  EXPECT_EQ(joined([](const Names& layers) -> double {
              const bool is_last = layers.back() == "last";
              return layers.size() == 1   ? 10
                     : layers.size() == 2 ? 25
                     : layers.size() == 3 ? (is_last ? 19 : 20)
                                          : 1000;
            }),
            (std::vector<Names>{{"expand", "dw", "linear"}, {"linear2", "dense", "last"}}));
  EXPECT_EQ(joined([](const Names& layers) {
              return layers == Names{"dw2", "linear2"} ? 20.5 : layers.size() == 1 ? 10 : 1000;
            }),
            (std::vector<Names>{{"dw2", "linear2"}}))
      << "what isolated times do not show: a hand-over less";
  EXPECT_EQ(joined([](const Names& layers) {
              return layers == Names{"dw2", "linear2"} ? 21.5 : layers.size() == 1 ? 10 : 1000;
            }),
            std::vector<Names>());
}

TEST(Int8ChainNodes, LeaveAloneWhatCannotBeTimed) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const auto time = [](const Names& layers) -> double {
    if (layers == Names{"dw"}) throw Unsupported("needs too much scratch memory");
    return layers.size() == 1 ? 10 : 11;
  };
  EXPECT_EQ(ChainsIn(SymmetricChains(*net, time)),
            (std::vector<Names>{{"expand2", "dw2", "linear2", "dense", "last"}}));
}

TEST(Int8ChainNodes, EndWhereAnotherLayerReads) {
  const std::string pool = R"(layer { name: "pool" type: "Pooling" bottom: "dw2" top: "pool"
                                      pooling_param { kernel_size: 2 } })";
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet + pool);
  EXPECT_EQ(ChainsIn(SymmetricChains(*net, AlwaysFaster)),
            (std::vector<Names>{
                {"expand", "dw", "linear"}, {"expand2", "dw2"}, {"linear2", "dense", "last"}}));
}

TEST(Int8ChainNodes, SayWhatTheyWereComparedWith) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  std::vector<LayerCandidates> seen;
  LoweredBytes(*net, QuantizationScheme::SYMMETRIC, AlwaysFaster, kBytesInBlocks, false,
               [&](const LayerCandidates& candidates) { seen.push_back(candidates); });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].layers, (Names{"expand", "relu1", "dw", "relu2", "linear", "sum"}));
  ASSERT_GE(seen[0].possible.size(), 2u);
  EXPECT_EQ(seen[0].possible[0].implementation, "apart");
  EXPECT_EQ(seen[0].possible[0].microseconds, 30);
  EXPECT_FALSE(seen[0].possible[0].is_chosen);
  EXPECT_EQ(seen[0].possible[1].implementation, "int8_chain");
  EXPECT_TRUE(seen[0].possible[1].is_chosen);
}

TEST(Int8ChainNodes, SayWhyLayersStayApart) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  std::vector<LayerCandidates> seen;
  const auto time = [](const Names& layers) {
    return layers.size() == 1 ? 10 : layers == Names{"dw2", "linear2"} ? 23 : 1000;
  };
  LoweredBytes(*net, QuantizationScheme::SYMMETRIC, time, kBytesInBlocks, false,
               [&](const LayerCandidates& candidates) { seen.push_back(candidates); });
  ASSERT_EQ(seen.size(), 2u) << "one for each run of layers";
  EXPECT_EQ(seen[1].layers, (Names{"dw2", "linear2"})) << "the nearest to being faster";
  EXPECT_TRUE(seen[1].possible[0].is_chosen);
  EXPECT_EQ(seen[1].possible[1].microseconds, 23);
}

TEST(Int8ChainNodes, AreReadFromPlans) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const Graph graph = LoweredBytes(*net, QuantizationScheme::AFFINE, AlwaysFaster, kBytesInBlocks);
  const std::string file = NewFileName();
  WritePlan({{graph}, 0}, file);
  const auto engine = Engine::Load(file);
  EXPECT_EQ(ChainsIn(*engine->graph()), ChainsIn(graph));
  EXPECT_EQ(RunGraph(*engine->graph(), InputsOf(*net)), RunGraph(graph, InputsOf(*net)));
}

// Whose loops are shared by a LoopTeam where nothing in the graph does.
TEST(ImplementationsOnTheCpu, SayWhatMayNeedOpenMp) {
  const std::unique_ptr<Net<float>> net = NetOfSines(R"(
    layer { name: "data" type: "Input" top: "data"
            input_param { shape { dim: 2 dim: 3 dim: 70 dim: 70 } } }
    layer { name: "permute" type: "Permute" bottom: "data" top: "permute"
            permute_param { order: 0 order: 2 order: 3 order: 1 } }
    layer { name: "elu" type: "ELU" bottom: "permute" top: "elu" }
    layer { name: "many" type: "Softmax" bottom: "elu" top: "many" }
    layer { name: "ip" type: "InnerProduct" bottom: "many" top: "ip"
            inner_product_param { num_output: 5 } }
    layer { name: "few" type: "Softmax" bottom: "ip" top: "few" })");
  const Graph graph = GraphOf(*net);
  const auto needs = [&](const char* implementation, const char* layer) {
    const Node& node = graph.nodes[graph.FindNode(layer)];
    return ImplementationOf(cpu::CpuTarget(), implementation).NeedsOpenMp(graph, node);
  };
  EXPECT_FALSE(needs("layer", "permute"));
  EXPECT_FALSE(needs("layer", "few"));
  EXPECT_TRUE(needs("layer", "many"));
  EXPECT_TRUE(needs("layer", "elu"));
  EXPECT_TRUE(needs("layer", "ip"));
  EXPECT_TRUE(needs("blas", "ip"));
  EXPECT_TRUE(needs("onednn", "ip"));
  EXPECT_FALSE(needs("int8", "ip"));
}

// What a damaged plan may say.
TEST(Int8ChainNodes, RefuseWhatTheyCannotCompute) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const Graph good = SymmetricChains(*net, AlwaysFaster);
  const int index = good.FindNode("expand");
  ASSERT_EQ(good.nodes[index].epilogue[1].layer.name(), "dw");
  const auto expect_error = [&](const char* what, const std::function<void(Node*)>& damage) {
    Graph graph = good;
    damage(&graph.nodes[index]);
    EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << what;
  };
  expect_error("a parameter is missing", [](Node* node) { node->parameters.pop_back(); });
  expect_error("weights are too few", [](Node* node) { node->parameters[3].shape = {5}; });
  expect_error("scales are too few", [](Node* node) { node->parameters[2].shape = {5}; });
  expect_error("weights of another type",
               [](Node* node) { node->parameters[0].type = ElementType::UINT8; });
  expect_error("floats between", [](Node* node) { node->epilogue[1].type = ElementType::FLOAT; });
  expect_error("a residual in between",
               [](Node* node) { std::swap(node->epilogue[2], node->epilogue[4]); });
  expect_error("another kernel", [](Node* node) {
    node->epilogue[1].layer.mutable_convolution_param()->set_kernel_size(0, 7);
  });
  expect_error("an unknown variant", [](Node* node) { node->implementation = "int8_chain:x"; });
  expect_error("floats' implementation",
               [](Node* node) { node->implementation = "separable:rows"; });
  Graph graph = good;
  graph.nodes[graph.FindNode("first")].implementation = "int8_chain";
  EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << "one convolution alone";
}

}  // namespace
}  // namespace caffe::inference
