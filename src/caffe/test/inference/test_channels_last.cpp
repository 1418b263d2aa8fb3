// Nets whose values have their channels last on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/test/support/lowered_nets.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

/// Layers without weights, some on channels that are padded.
const char kWithoutWeights[] = R"(
  name: 'layers' state { phase: TEST }
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 40 dim: 9 dim: 7
    } } }
  layer { name: 'small' type: 'Input' top: 'small' input_param { shape { dim: 2 dim: 40 dim: 5
    dim: 4 } } }
  layer { name: 'prelu' type: 'PReLU' bottom: 'data' top: 'prelu' }
  layer { name: 'leaky' type: 'ReLU' bottom: 'data' top: 'leaky' relu_param { negative_slope: 0.3 } }
  layer { name: 'sum' type: 'Eltwise' bottom: 'prelu' bottom: 'leaky' top: 'sum'
    eltwise_param { coeff: 0.5 coeff: -1 } }
  layer { name: 'max' type: 'Eltwise' bottom: 'sum' bottom: 'leaky' top: 'max'
    eltwise_param { operation: MAX } }
  layer { name: 'slice' type: 'Slice' bottom: 'max' top: 'a' top: 'b' slice_param { slice_point: 8 } }
  layer { name: 'relu' type: 'ReLU' bottom: 'b' top: 'relu' relu_param { negative_slope: 0.1 } }
  layer { name: 'join' type: 'Concat' bottom: 'relu' bottom: 'a' bottom: 'prelu' top: 'join' }
  layer { name: 'pool' type: 'Pooling' bottom: 'join' top: 'pool'
    pooling_param { kernel_size: 3 stride: 2 pad: 1 } }
  layer { name: 'mean' type: 'Pooling' bottom: 'pool' top: 'mean'
    pooling_param { pool: AVE global_pooling: true } }
  layer { name: 'crop' type: 'Crop' bottom: 'join' bottom: 'small' top: 'crop'
    crop_param { offset: 2 offset: 1 } }
  layer { name: 'norm' type: 'LRN' bottom: 'crop' top: 'norm'
    lrn_param { local_size: 5 alpha: 0.2 } }
  layer { name: 'soft' type: 'Softmax' bottom: 'norm' top: 'soft' }
  layer { name: 'last' type: 'Convolution' bottom: 'norm' top: 'last'
    convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'xavier' } } })";

/// On whole blocks of channels, as functions need that do not map 0 to 0.
const char kOnWholeBlocks[] = R"(
  name: 'whole' state { phase: TEST }
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 32 dim: 6 dim: 5
    } } }
  layer { name: 'power' type: 'Power' bottom: 'data' top: 'power'
    power_param { power: 2 scale: 0.5 shift: 1 } }
  layer { name: 'tanh' type: 'TanH' bottom: 'data' top: 'tanh' }
  layer { name: 'abs' type: 'AbsVal' bottom: 'tanh' top: 'abs' }
  layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'abs' top: 'sigmoid' }
  layer { name: 'slice' type: 'Slice' bottom: 'power' top: 'a' top: 'b' }
  layer { name: 'elu' type: 'ELU' bottom: 'b' top: 'elu' }
  layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'elu' top: 'sum' }
  layer { name: 'join' type: 'Concat' bottom: 'sum' bottom: 'sigmoid' bottom: 'elu' top: 'join' }
  layer { name: 'scale' type: 'Scale' bottom: 'join' top: 'scale' scale_param { bias_term: true
    filler { type: 'uniform' min: 0.5 max: 2 } bias_filler { type: 'uniform' min: -1 max: 1 } } }
  layer { name: 'last' type: 'Convolution' bottom: 'join' top: 'last'
    convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'xavier' } } })";

void FillInputs(const Net<float>& net) {
  std::minstd_rand random(TestSeed());
  for (Blob<float>* blob : net.input_blobs()) {
    for (int i = 0; i < blob->count(); ++i) {
      blob->mutable_cpu_data()[i] = static_cast<float>(random() % 4001) / 1000 - 2;
    }
  }
}

class LayersWithChannelsLast : public ::testing::TestWithParam<TypesCase> {
 protected:
  static Graph LoweredFor(const Net<float>& net, const std::set<ElementType>& maths) {
    const CalibrationTable table = TableOf(net);
    return Lowered(cpu::CpuTarget(), GraphOf(net), maths, 2 * (TestSeed() / 2), &table,
                   QuantizationScheme::SYMMETRIC, cpu::kChannelsLast);
  }

  /// All layers but those of these types compute with channels last, and the outputs are the net's.
  void ExpectTheSame(const char* prototxt, const std::set<std::string>& others) {
    Net<float> net(ParseNet(prototxt));
    FillInputs(net);
    net.Forward();
    const Graph graph = LoweredFor(net, GetParam().maths);
    SCOPED_TRACE(ToText(graph));
    for (const Node& node : graph.nodes) {
      if (node.type() == kReorder || others.count(node.type()) > 0) continue;
      EXPECT_EQ(graph.values[node.outputs[0]].layout, cpu::kChannelsLast) << node.name();
    }
    ExpectSame(OutputsOf(net), RunGraph(graph, InputsOf(net)), GetParam().bound, GetParam().least);
    ExpectSame(RunGraph(graph, InputsOf(net)), RunLoaded(graph, InputsOf(net)), 0);
  }

  /// By way of a plan file.
  static NamedValues RunLoaded(const Graph& graph, const NamedValues& inputs) {
    const std::string file = NewFileName();
    WritePlan({{graph}, 0}, file);
    const std::shared_ptr<const Engine> engine = Engine::Load(file);
    EXPECT_EQ(ToText(*engine->graph()), ToText(graph));
    return RunGraph(*engine->graph(), inputs);
  }
};

TEST_P(LayersWithChannelsLast, ComputeTheSame) { ExpectTheSame(kWithoutWeights, {"Convolution"}); }

TEST_P(LayersWithChannelsLast, ComputeTheSameOnWholeBlocks) {
  ExpectTheSame(kOnWholeBlocks, {"Convolution"});
}

// A Concat's bottoms are channels of each pixel of its top.
TEST_P(LayersWithChannelsLast, ReadAndWritePartsOfAConcatInPlace) {
  Net<float> net(ParseNet(kOnWholeBlocks));
  FillInputs(net);
  net.Forward();
  const Graph graph = LoweredFor(net, GetParam().maths);
  const Node& join = graph.nodes[graph.FindNode("join")];
  EXPECT_TRUE(IsFree(graph, join)) << ToText(graph);
  const Value& last = graph.values[join.inputs[2]];
  EXPECT_EQ(last.view.base, join.outputs[0]);
  EXPECT_EQ(last.view.offset, 48);
  const auto region = RegionOf(graph, join.inputs[2]);
  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->outer, 2u * 6 * 5) << "pixels";
  EXPECT_EQ(region->run, 16u);
  EXPECT_EQ(region->stride, 64u);
}

// One position: the same memory in every order.
TEST(ChannelsLast, AnInnerProductReadsWhatPoolingLeavesOfEachChannelInPlace) {
  Net<float> net(ParseNet(R"(
      name: 'head' state { phase: TEST }
      layer { name: 'data' type: 'Input' top: 'data'
        input_param { shape { dim: 3 dim: 32 dim: 5 dim: 4 } } }
      layer { name: 'pool' type: 'Pooling' bottom: 'data' top: 'pool'
        pooling_param { pool: AVE global_pooling: true } }
      layer { name: 'fc' type: 'InnerProduct' bottom: 'pool' top: 'fc'
        inner_product_param { num_output: 10 weight_filler { type: 'xavier' } } })"));
  FillInputs(net);
  net.Forward();
  const Graph graph = Lowered(cpu::CpuTarget(), GraphOf(net), {ElementType::FLOAT}, 0, nullptr,
                              QuantizationScheme::SYMMETRIC, cpu::kChannelsLast);
  SCOPED_TRACE(ToText(graph));
  const int pooled = graph.nodes[graph.FindNode("pool")].outputs[0];
  EXPECT_EQ(graph.values[pooled].layout, cpu::kChannelsLast);
  const auto reads = [&](const Node& node) { return node.inputs[0] == pooled; };
  const auto reader = std::find_if(graph.nodes.begin(), graph.nodes.end(), reads);
  ASSERT_NE(reader, graph.nodes.end());
  EXPECT_EQ(reader->type(), kReorder);
  EXPECT_TRUE(IsFree(graph, *reader));
  ExpectSame(OutputsOf(net), RunGraph(graph, InputsOf(net)), 2e-5);
}

const std::vector<TypesCase> kTypes = {{"Float", {ElementType::FLOAT}, 2e-5},
                                       {"Float16", {ElementType::FLOAT16}, 2e-2},
                                       {"Int8", {ElementType::INT8}, 0.1}};
INSTANTIATE_TEST_SUITE_P(Types, LayersWithChannelsLast, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caffe::inference
