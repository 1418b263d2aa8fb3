// Convolutions of floating-point numbers, and with channels last of bytes, that become one node:
// which ones do, and that their numbers stay the same.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "caffe/inference/engine.hpp"
#include "caffe/inference/quantize/fused_sums.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/chain_nets.hpp"
#include "caffe/test/support/integer_nets.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

const FastestKernel kBytesInPixels = {
    {"int8_channels_last"}, {ElementType::INT8, Layout::CHANNELS_LAST}, "int8_chain"};

FastestKernel InPixels(ElementType type) {
  return {{"channels_last"}, {type, Layout::CHANNELS_LAST}, "packed_chain"};
}

/// With AMX in software.
class OnEmulatedTiles {
 protected:
  OnEmulatedTiles() {
    kernels::SetCpuInstructionSet(kernels::InstructionSet::Named("emulated_amx"));
  }
  ~OnEmulatedTiles() { kernels::SetCpuInstructionSet(before_); }

 private:
  const kernels::InstructionSet before_ = kernels::CpuInstructionSet();
};

/// Lowered for weights and blobs of this type.
Graph LoweredFloats(const Net<float>& net, ElementType type, const TimeOf& time) {
  return LoweredChains(net, time, InPixels(type), {}, nullptr);
}

void ExpectTheSameNumbers(const Net<float>& net, const Graph& joined, const Graph& apart) {
  SCOPED_TRACE(ToText(joined));
  EXPECT_EQ(ChainsIn(joined), kAllChains);
  EXPECT_EQ(ChainsIn(apart), std::vector<Names>());
  for (const int batch : {2, 1}) {
    EXPECT_EQ(RunGraph(joined, InputsOf(net), batch), RunGraph(apart, InputsOf(net), batch));
  }
  const std::string file = NewFileName();
  Engine(joined).Save(file);
  EXPECT_EQ(RunGraph(*Engine::Load(file)->graph(), InputsOf(net)), RunGraph(joined, InputsOf(net)));
}

class FloatChainEngines : public OnEmulatedTiles, public ::testing::TestWithParam<ElementType> {};

TEST_P(FloatChainEngines, KeepTheNumbers) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  ExpectTheSameNumbers(*net, LoweredFloats(*net, GetParam(), AlwaysFaster),
                       LoweredFloats(*net, GetParam(), nullptr));
}

INSTANTIATE_TEST_SUITE_P(Types, FloatChainEngines,
                         ::testing::Values(ElementType::BFLOAT16, ElementType::FLOAT16,
                                           ElementType::FLOAT),
                         [](const auto& info) { return std::string(Name(info.param)); });

class BlockedChainEngines : public kernels::OnInstructionSet {};

TEST_P(BlockedChainEngines, KeepTheNumbers) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  // "packed" is for groups of one channel.
  const FastestKernel pairs = {
      {"packed_bf16", "packed"}, {ElementType::BFLOAT16, Layout::CHANNELS_BLOCKED}, "packed_chain"};
  const auto lowered = [&](const TimeOf& time) {
    return LoweredChains(*net, time, pairs, {}, nullptr);
  };
  ExpectTheSameNumbers(*net, lowered(AlwaysFaster), lowered(nullptr));
}

INSTANTIATE_TEST_SUITE_P(Sets, BlockedChainEngines, ::testing::ValuesIn(kernels::SetsWithPairs()),
                         [](const auto& info) { return std::string(Name(info.param)); });

class ByteChainEngines : public OnEmulatedTiles,
                         public ::testing::TestWithParam<QuantizationScheme> {};

TEST_P(ByteChainEngines, KeepTheBits) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  ExpectTheSameNumbers(*net, LoweredBytes(*net, GetParam(), AlwaysFaster, kBytesInPixels),
                       LoweredBytes(*net, GetParam(), nullptr, kBytesInPixels));
}

INSTANTIATE_TEST_SUITE_P(Schemes, ByteChainEngines,
                         ::testing::Values(QuantizationScheme::SYMMETRIC,
                                           QuantizationScheme::AFFINE),
                         [](const auto& info) {
                           return info.param == QuantizationScheme::AFFINE ? "Affine" : "Symmetric";
                         });

class ChannelsLastChainNodes : public OnEmulatedTiles, public ::testing::Test {};

TEST_F(ChannelsLastChainNodes, InIntegersKeepTheBits) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const Graph integers = FuseIntegerResiduals(InIntegers(
      GraphOf(*net), RangesOfBlobs(*net), QuantizationScheme::AFFINE, kernels::Rounding::DOUBLE));
  ChainTiming timing(AlwaysFaster, kBytesInPixels);
  ExpectTheSameNumbers(*net, LoweredIntegers(integers, &timing, /*joins=*/true),
                       LoweredIntegers(integers, &timing));
}

TEST_F(ChannelsLastChainNodes, SayWhatTheyWereComparedWith) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  std::vector<LayerCandidates> seen;
  LoweredChains(*net, AlwaysFaster, InPixels(ElementType::BFLOAT16), {}, nullptr,
                [&](const LayerCandidates& candidates) { seen.push_back(candidates); });
  ASSERT_EQ(seen.size(), 2u);
  Names ways;
  for (const LayerCandidates::Possible& way : seen[0].possible) ways.push_back(way.implementation);
  EXPECT_EQ(ways, (Names{"apart", "packed_chain:4x1", "packed_chain:2x2"}));
}

// A layer in another type, or in blocks, is none of a chain.
TEST_F(ChannelsLastChainNodes, EndWhereLayersComputeInAnotherWay) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const auto in_floats = [](Graph* graph, LoweringOptions* options) {
    options->maths[graph->FindNode("linear2")] = {ElementType::FLOAT};
  };
  const Graph graph =
      LoweredChains(*net, AlwaysFaster, InPixels(ElementType::BFLOAT16), {}, in_floats);
  SCOPED_TRACE(ToText(graph));
  EXPECT_EQ(
      ChainsIn(graph),
      (std::vector<Names>{{"expand", "dw", "linear"}, {"expand2", "dw2"}, {"dense", "last"}}));
}

// What a damaged plan may say.
TEST_F(ChannelsLastChainNodes, RefuseWhatTheyCannotCompute) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const Graph good = LoweredFloats(*net, ElementType::BFLOAT16, AlwaysFaster);
  const int index = good.FindNode("expand");
  ASSERT_EQ(good.nodes[index].epilogue[1].layer.name(), "dw");
  const auto expect_error = [&](const char* what, const std::function<void(Node*)>& damage) {
    Graph graph = good;
    damage(&graph.nodes[index]);
    EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << what;
  };
  expect_error("a parameter is missing", [](Node* node) { node->parameters.pop_back(); });
  expect_error("weights are too few", [](Node* node) { node->parameters[2].shape = {5}; });
  expect_error("biases are too few", [](Node* node) { node->parameters[1].shape = {5}; });
  expect_error("weights of another type",
               [](Node* node) { node->parameters[0].type = ElementType::FLOAT16; });
  expect_error("bytes between", [](Node* node) { node->epilogue[1].type = ElementType::INT8; });
  expect_error("a residual in between",
               [](Node* node) { std::swap(node->epilogue[2], node->epilogue[4]); });
  expect_error("another kernel", [](Node* node) {
    node->epilogue[1].layer.mutable_convolution_param()->set_kernel_size(0, 7);
  });
  expect_error("no variant", [](Node* node) { node->implementation = "packed_chain"; });
  expect_error("an unknown variant", [](Node* node) { node->implementation = "packed_chain:x"; });
  expect_error("blocks' implementation",
               [](Node* node) { node->implementation = "separable:rows"; });
  expect_error("bytes' implementation",
               [](Node* node) { node->implementation = "int8_chain:2x2"; });
  Graph graph = good;
  graph.nodes[graph.FindNode("first")].implementation = "packed_chain:2x2";
  EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error) << "one convolution alone";
}

// On a processor without tiles.
TEST(ChannelsLastChains, AskForTiles) {
  const std::unique_ptr<Net<float>> net = NetOfSines(kChainNet);
  const kernels::InstructionSet before = kernels::CpuInstructionSet();
  kernels::SetCpuInstructionSet(kernels::InstructionSet::Named("emulated_amx"));
  const Graph graph = LoweredFloats(*net, ElementType::BFLOAT16, AlwaysFaster);
  kernels::SetCpuInstructionSet(kernels::InstructionSet::Named("generic"));
  EXPECT_THROW(RunGraph(graph, InputsOf(*net)), Error);
  kernels::SetCpuInstructionSet(before);
}

}  // namespace
}  // namespace caffe::inference
