// Channels of blobs that will be 8-bit integers, made alike in size: the net computes the same.
#include "caffe/inference/quantize/equalization.hpp"

#include <gtest/gtest.h>

#include "caffe/inference/quantize/bias_correction.hpp"
#include "caffe/test/support/inference_test.hpp"

namespace caffe::inference {
namespace {

/// x -> first (1x1) -> ... -> y, with two channels of which the second is small.
struct Example {
  explicit Example(const std::string& between, const std::string& last)
      : net(ParseNet("name: 'example' state { phase: TEST } "
                     "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 "
                     "dim: 2 dim: 2 } } }"
                     "layer { name: 'first' type: 'Convolution' bottom: 'x' top: 'a' "
                     "convolution_param { num_output: 2 kernel_size: 1 } }" +
                     between +
                     "layer { name: 'last' bottom: 'b' top: 'y' type: 'Convolution' "
                     "convolution_param { num_output: 2 kernel_size: 1 " +
                     last + " } }")) {
    Fill("first", 0, {1, 0.5, 0.01, 0.02});
    Fill("first", 1, {0.25, -0.01});
    Floats weights = {1, 2, 3, 4};
    weights.resize(net.layer_by_name("last")->blobs()[0]->count());
    Fill("last", 0, weights);
    Fill("last", 1, {0.5, 0});
    const Floats x = {1, -2, 3, 4, -1, 2, 0, 1};
    std::copy(x.begin(), x.end(), net.input_blobs()[0]->mutable_cpu_data());
    net.Forward();
    graph = GraphOf(net);
    ranges.resize(graph.values.size());
    for (const char* name : {"a", "b"}) {
      const int value = graph.FindValue(name);
      if (value < 0) continue;
      ranges[value] = {4.f / 127, false};
      table.SetChannelRanges(name, {3.2f, 0.05f});
    }
  }

  void Fill(const char* layer, int blob, const Floats& values) {
    std::copy(values.begin(), values.end(),
              net.layer_by_name(layer)->blobs()[blob]->mutable_cpu_data());
  }
  Graph Equalized() const {
    Graph equalized = EqualizeChannels(graph, table, ranges);
    equalized.Validate();
    ExpectSame(OutputsOf(net), RunGraph(equalized, InputsOf(net)), 1e-6);
    return equalized;
  }
  Floats ScalesOf(const char* value) const {
    const Graph equalized = Equalized();
    return equalized.values[equalized.FindValue(value)].channel_scales;
  }

  Net<float> net;
  Graph graph;
  CalibrationTable table;
  std::vector<Range> ranges;
};

void ExpectNear(const Floats& expected, const Floats& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], actual[i], 1e-6) << i;
}

const char kReluBetween[] = "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'b' }";

// Of a range of 4 the channels fill, with 1.25 times their size as headroom, all and 1 / 64.
TEST(EqualizeChannels, TakesAllOfItWhereEachWeightHasAScaleOfItsOwn) {
  const Example example(kReluBetween, "group: 2");
  ExpectNear((Floats{1, 1.f / 64}), example.ScalesOf("b"));
  ExpectNear((Floats{1, 1.f / 64}), example.ScalesOf("a"));
  const Graph graph = example.Equalized();
  ExpectNear((Floats{1, 0.5, 0.64f, 1.28f}),
             graph.nodes[graph.FindNode("first")].parameters[0].ToVector());
  ExpectNear((Floats{0.25, -0.64f}), graph.nodes[graph.FindNode("first")].parameters[1].ToVector());
  ExpectNear((Floats{1, 2.f / 64}), graph.nodes[graph.FindNode("last")].parameters[0].ToVector());
  ExpectNear((Floats{0.5, 0}), graph.nodes[graph.FindNode("last")].parameters[1].ToVector());
}

// A row of weights has one scale: columns that differ as much as the channels did gain nothing.
TEST(EqualizeChannels, SharesWithWeightsThatSumUpChannels) {
  ExpectNear((Floats{1, 1.f / 8}), Example(kReluBetween, "").ScalesOf("b"));
}

TEST(EqualizeChannels, GoesThroughWhatTreatsChannelsApart) {
  const char* const ways[] = {
      "layer { name: 'p' type: 'PReLU' bottom: 'a' top: 'b' }",
      "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'b' pooling_param { kernel_size: 1 } }",
      "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'r' } "
      "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'r' top: 'b' }",
      "layer { name: 's' type: 'Slice' bottom: 'a' top: 's0' top: 's1' } "
      "layer { name: 'c' type: 'Concat' bottom: 's1' bottom: 's0' top: 'c' } "
      "layer { name: 't' type: 'Slice' bottom: 'c' top: 't1' top: 't0' } "
      "layer { name: 'd' type: 'Concat' bottom: 't0' bottom: 't1' top: 'b' }",
  };
  for (const char* way : ways) {
    SCOPED_TRACE(way);
    ExpectNear((Floats{1, 1.f / 8}), Example(way, "").ScalesOf("a"));
  }
}

TEST(EqualizeChannels, EndsAtWhatDoesNot) {
  const char* const ways[] = {
      "layer { name: 'p' type: 'Sigmoid' bottom: 'a' top: 'b' }",
      "layer { name: 'p' type: 'ReLU6' bottom: 'a' top: 'b' }",
      "layer { name: 'p' type: 'Power' bottom: 'a' top: 'b' power_param { shift: 1 } }",
      "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'x' top: 'b' }",
  };
  for (const char* way : ways) {
    SCOPED_TRACE(way);
    ExpectNear(Floats(), Example(way, "").ScalesOf("a"));
  }
}

TEST(EqualizeChannels, LeavesAloneWhatIsGivenReturnedOrUnknown) {
  Example seen(kReluBetween, "");
  seen.graph.outputs.push_back(seen.graph.FindValue("b"));
  EXPECT_TRUE(
      EqualizeChannels(seen.graph, seen.table, seen.ranges).values.back().channel_scales.empty());

  Example without_table(kReluBetween, "");
  without_table.table = CalibrationTable();
  ExpectNear(Floats(), without_table.ScalesOf("a"));
  Example half_a_table(kReluBetween, "");
  half_a_table.table = CalibrationTable();
  half_a_table.table.SetChannelRanges("a", {3.2f, 0.05f});
  ExpectNear(Floats(), half_a_table.ScalesOf("a"));
  Example without_ranges(kReluBetween, "");
  without_ranges.ranges.assign(without_ranges.ranges.size(), {});
  ExpectNear(Floats(), without_ranges.ScalesOf("a"));
}

TEST(EqualizeChannels, FollowsWhatIsAddedWhileALayerWrites) {
  Example example(
      "layer { name: 'r' type: 'Convolution' bottom: 'x' top: 'r' convolution_param { "
      "num_output: 2 kernel_size: 1 } }"
      "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'r' top: 's' } "
      "layer { name: 'p' type: 'ReLU' bottom: 's' top: 'b' }",
      "");
  example.Fill("r", 0, {0.5, 0.5, 0.01, 0.02});
  example.net.Forward();
  example.graph = FuseActivations(FuseResiduals(GraphOf(example.net)));
  example.ranges.assign(example.graph.values.size(), {});
  const int b = example.graph.FindValue("b");
  example.ranges[b] = {4.f / 127, false};
  const Graph equalized = example.Equalized();
  EXPECT_EQ(equalized.nodes.size(), 3u);
  ExpectNear((Floats{1, 1.f / 8}), equalized.values[b].channel_scales);
}

TEST(MeansOf, AreThoseOfTheScaledChannels) {
  Example example(kReluBetween, "group: 2");
  example.table.SetChannelMeans("b", {2, 0.03f});
  const Graph graph = example.Equalized();
  const auto means = MeansOf(graph, example.table);
  ExpectNear({2, 64 * 0.03f}, means[graph.FindValue("b")]);
  ExpectNear({}, means[graph.FindValue("a")]);
}

// In steps of 1 / 127, 0.3 becomes 38 steps and loses 0.1; in steps of 0.5 / 127, -0.26 becomes -66
// and loses -0.04.
TEST(CorrectBias, AddsWhatRoundedWeightsLoseOnTheAverage) {
  Node node;
  node.layer = ParseLayer(
      "name: 'conv' type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 }");
  node.parameters = {Constant::Of({2, 2, 1, 1}, {1, 0.3f, 0.5f, -0.26f})};
  Node unknown = node;
  CorrectBias({1, 2, 5, 5}, {}, &unknown);
  EXPECT_EQ(unknown.parameters.size(), 1u);
  CorrectBias({1, 2, 5, 5}, {7, 10}, &node);
  ASSERT_EQ(node.parameters.size(), 2u);
  ExpectNear({1.f / 127, -0.2f / 127}, node.parameters[1].ToVector());
  node.parameters[1] = Constant::Of({2}, {1, 2});
  CorrectBias({1, 2, 5, 5}, {7, -10}, &node);
  ExpectNear({1 - 1.f / 127, 2 + 0.2f / 127}, node.parameters[1].ToVector());
}

}  // namespace
}  // namespace caffe::inference
