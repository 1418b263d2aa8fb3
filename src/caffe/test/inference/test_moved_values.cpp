// Values that share a range, as layers only move numbers between them: a range that is not known
// may not be taken from the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/quantize/moved_values.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "caffe/test/support/integer_nets.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

Graph GraphOfValues(const std::vector<std::string>& names) {
  Graph graph;
  for (const std::string& name : names) {
    Value value;
    value.name = name;
    graph.values.push_back(value);
  }
  return graph;
}

CalibrationTable SeenBlobs(const std::vector<std::string>& blobs) {
  CalibrationTable table;
  for (const std::string& blob : blobs) table.Set(blob, Seen(-1, 1));
  return table;
}

std::vector<std::string> Without(const MovedValues& groups, const Graph& graph,
                                 const std::vector<std::string>& blobs) {
  const std::vector<bool> without = groups.WithoutRange(graph, SeenBlobs(blobs));
  std::vector<std::string> names;
  for (size_t i = 0; i < without.size(); ++i) {
    if (without[i]) names.push_back(graph.values[i].name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(MovedValues, FindTheOnesThatOthersDoNotCover) {
  const Graph graph = GraphOfValues({"a", "b", "joined", "flat"});
  MovedValues groups(4);
  groups.Add({0, 1}, {2}, true);
  groups.Add({2}, {3}, true);
  for (const int value : {1, 2, 3}) EXPECT_EQ(groups.GroupOf(value), groups.GroupOf(0));
  EXPECT_EQ(Without(groups, graph, {"a", "b"}), Names());
  EXPECT_EQ(Without(groups, graph, {"flat"}), Names());  // the range of the whole is each part's
  EXPECT_EQ(Without(groups, graph, {"joined"}), Names());
  EXPECT_EQ(Without(groups, graph, {"a"}), Names{"b"});
  EXPECT_EQ(Without(groups, graph, {}), (Names{"a", "b"}));
}

TEST(MovedValues, ADerivedRangeCoversWhatWasMovedThere) {
  const Graph graph = GraphOfValues({"before", "flat"});
  MovedValues groups(2);
  groups.Add({0}, {1}, true);
  EXPECT_EQ(Without(groups, graph, {}), Names{"before"});
  const std::vector<bool> without = groups.WithoutRange(graph, SeenBlobs({}), {false, true});
  EXPECT_FALSE(without[0] || without[1]);
}

TEST(MovedValues, APartDoesNotCoverTheWhole) {
  const Graph graph = GraphOfValues({"whole", "first", "second"});
  MovedValues groups(3);
  groups.Add({0}, {1, 2}, true);
  EXPECT_EQ(Without(groups, graph, {"first"}), Names{"whole"});
  EXPECT_EQ(Without(groups, graph, {"first", "second"}), Names());
}

TEST(MovedValues, WhatIsPooledOrCroppedDoesNotCoverWhatItWasMadeOf) {
  const Graph graph = GraphOfValues({"whole", "pooled"});
  MovedValues groups(2);
  groups.Add({0}, {1}, false);
  EXPECT_EQ(Without(groups, graph, {"pooled"}), Names{"whole"});
  EXPECT_EQ(Without(groups, graph, {"whole"}), Names());
}

/// Convolutions of `data` with weights 1 (up to 1) and 100 (up to 100), joined and convolved with
/// weights 1. `function`, if any, is a layer behind the second one.
NetworkDefinition JoinedNet(const std::string& function = "") {
  NetworkDefinition net("joined");
  net.AddInput("data", {1, 1, 1, 2});
  const auto convolution = [&](const char* name, const char* bottom, std::vector<float> weights) {
    const int inputs = static_cast<int>(weights.size());
    net.AddLayer(ParseLayer(Join("name: '", name, "' type: 'Convolution' bottom: '", bottom,
                                 "' top: '", name,
                                 "' convolution_param { num_output: 1 kernel_size: 1 bias_term: "
                                 "false }")),
                 {Constant::Of({1, inputs, 1, 1}, weights)});
  };
  convolution("small", "data", {1});
  convolution("large", "data", {100});
  if (!function.empty()) net.AddLayer(ParseLayer(function));
  net.AddLayer(ParseLayer(Join("name: 'both' type: 'Concat' bottom: 'small' bottom: '",
                               function.empty() ? "large" : "function", "' top: 'both'")));
  convolution("last", "both", {1, 1});
  net.MarkOutput("last");
  net.SetRange("data", -1, 1);
  net.SetRange("small", -1, 1);
  net.SetRange("last", -101, 101);
  return net;
}

std::vector<float> LastOf(const BuilderConfig& config, const NetworkDefinition& net) {
  ExecutionContext context(Builder(config).Build(net));
  context.Input("data")[0] = 0.5f;
  context.Input("data")[1] = 1;
  context.Run();
  const float* last = context.Output("last");
  return {last[0], last[1]};
}

BuilderConfig Int8() {
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.timing_iterations = 0;
  return config;
}

TEST(Int8, DoesNotSaturateWhereOneBottomOfAConcatHasNoRange) {
  const std::vector<float> values = LastOf(Int8(), JoinedNet());
  EXPECT_NEAR(values[0], 50.5, 1);
  EXPECT_NEAR(values[1], 101, 1);
}

TEST(Integers, DoNotSaturateWhereOneBottomOfAConcatHasNoRange) {
  BuilderConfig config = Int8();
  config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
  ExpectContains(ErrorOf([&] { Builder(config).Build(JoinedNet()); }),
                 "large' is not known");  // 'small+large', which is one layer
  config.quantization.arithmetic = Arithmetic::INTEGER;
  const std::vector<float> values = LastOf(config, JoinedNet());
  EXPECT_NEAR(values[0], 50.5, 1);
  EXPECT_NEAR(values[1], 101, 1);
}

/// The names of the layers that compute in 8 bits.
std::set<std::string> InBytes(const Engine& engine) {
  std::set<std::string> names;
  for (const LayerInfo& layer : engine.layers()) {
    if (layer.precision() == "INT8" || layer.integers) names.insert(layer.name);
  }
  return names;
}

// A Concat with a blob of unknown range does not take their range from layers that share it.
TEST(Int8, LayersKeepTheirRangesBesideAConcatWithAnUnknownOne) {
  for (const auto arithmetic : {Arithmetic::FLOAT, Arithmetic::INTEGER}) {
    NetworkDefinition net = JoinedNet();
    net.AddLayer(ParseLayer("name: 'next' type: 'Convolution' bottom: 'small' top: 'next' "
                            "convolution_param { num_output: 1 kernel_size: 1 bias_term: false }"),
                 {Constant::Of({1, 1, 1, 1}, {0.5f})});
    net.MarkOutput("next");
    net.SetRange("next", -0.5, 0.5);
    BuilderConfig config = Int8();
    config.quantization.arithmetic = arithmetic;
    config.skip_passes = {"siblings"};
    EXPECT_EQ(InBytes(*Builder(config).Build(net)).count("next"), 1u) << Name(arithmetic);
  }
}

// Means are smaller than what they are of.
TEST(Int8, DoesNotSaturateWhereOnlyThePooledBlobHasARange) {
  NetworkDefinition net("pooled");
  net.AddInput("data", {1, 1, 2, 2});
  net.AddLayer(ParseLayer("name: 'large' type: 'Convolution' bottom: 'data' top: 'large' "
                          "convolution_param { num_output: 1 kernel_size: 1 bias_term: false }"),
               {Constant::Of({1, 1, 1, 1}, {100})});
  net.AddLayer(
      ParseLayer("name: 'mean' type: 'Pooling' bottom: 'large' top: 'mean' "
                 "pooling_param { pool: AVE global_pooling: true }"));
  net.AddLayer(ParseLayer("name: 'last' type: 'Convolution' bottom: 'mean' top: 'last' "
                          "convolution_param { num_output: 1 kernel_size: 1 bias_term: false }"),
               {Constant::Of({1, 1, 1, 1}, {1})});
  net.MarkOutput("last");
  net.SetRange("data", -1, 1);
  net.SetRange("mean", -1, 1);
  net.SetRange("last", -1, 1);
  for (const auto arithmetic : {Arithmetic::FLOAT, Arithmetic::INTEGER}) {
    BuilderConfig config = Int8();
    config.quantization.arithmetic = arithmetic;
    ExecutionContext context(Builder(config).Build(net));
    const float data[] = {1, -0.3f, -0.3f, -0.4f};
    std::copy_n(data, 4, context.Input("data"));
    context.Run();
    EXPECT_NEAR(context.Output("last")[0], 0, 0.3) << Name(arithmetic);
  }
}

// Numbers that are not the largest of their windows may saturate, unless another layer reads them.
TEST(MovedValues, MaximaAloneNeedTheirRange) {
  const auto keeps = [](const std::string& pool, bool read_elsewhere, bool moved = false) {
    NetworkDefinition net("pooled");
    net.AddInput("data", {1, 1, 4, 4});
    if (moved) {
      net.AddLayer(
          ParseLayer("name: 'flip' type: 'Permute' bottom: 'data' top: 'flip' "
                     "permute_param { order: 0 order: 1 order: 3 order: 2 }"));
    }
    net.AddLayer(ParseLayer(std::string("name: 'pool' type: 'Pooling' top: 'pool' bottom: ") +
                            (moved ? "'flip'" : "'data'") +
                            " pooling_param { kernel_size: 2 pool: " + pool + " }"));
    if (read_elsewhere) {
      net.AddLayer(ParseLayer("name: 'abs' type: 'AbsVal' bottom: 'data' top: 'abs'"));
      net.MarkOutput("abs");
    }
    net.MarkOutput("pool");
    const Graph graph = net.graph();
    return KeepsRange(graph, graph.nodes[graph.FindNode("pool")]);
  };
  EXPECT_TRUE(keeps("MAX", false));
  EXPECT_FALSE(keeps("MAX", true));
  EXPECT_FALSE(keeps("AVE", false));
  EXPECT_FALSE(keeps("MAX", true, true)) << "'data' has another reader than what is moved";
}

// TanH has the range -1 to 1 whether or not the table says so.
TEST(Integers, AConcatHasRoomForABottomWithAFixedRange) {
  BuilderConfig config = Int8();
  config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
  NetworkDefinition net =
      JoinedNet("name: 'function' type: 'TanH' bottom: 'large' top: 'function'");
  net.SetRange("small", -0.01, 0.01);
  net.SetRange("large", -4, 4);
  net.SetRange("last", -1, 1);
  const std::vector<float> values = LastOf(config, net);
  EXPECT_NEAR(values[0], 1, 0.05);  // tanh(50), and 0.01 at most
}

}  // namespace
}  // namespace caffe::inference
