// Values that share a range, as layers only move numbers between them: a range that is not known
// may not be taken from the others.
#include <gtest/gtest.h>

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

TEST(MovedValues, FindsTheValueThatTheOthersDoNotCover) {
  const Graph graph = GraphOfValues({"a", "b", "joined", "flat"});
  MovedValues groups(4);
  groups.Add({0, 1}, {2});
  groups.Add({2}, {3});
  for (const int value : {1, 2, 3}) EXPECT_EQ(groups.GroupOf(value), groups.GroupOf(0));
  const auto without = [&](const std::vector<std::string>& blobs) {
    return groups.ValuesWithoutRange(graph, SeenBlobs(blobs))[groups.GroupOf(0)];
  };
  EXPECT_EQ(without({"a", "b"}), -1);
  EXPECT_EQ(without({"a", "flat"}), -1);  // the range of the whole is that of each part
  EXPECT_EQ(without({"joined"}), -1);
  EXPECT_EQ(without({"a"}), 1);
  EXPECT_EQ(without({"b"}), 0);
}

TEST(MovedValues, APartDoesNotCoverTheWhole) {
  const Graph graph = GraphOfValues({"whole", "first", "second"});
  MovedValues groups(3);
  groups.Add({0}, {1, 2});
  EXPECT_EQ(groups.ValuesWithoutRange(graph, SeenBlobs({"first"}))[groups.GroupOf(0)], 0);
  EXPECT_EQ(groups.ValuesWithoutRange(graph, SeenBlobs({"first", "second"}))[groups.GroupOf(0)], -1);
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

// TanH has the range -1 to 1 whether or not the table says so.
TEST(Integers, AConcatHasRoomForABottomWithAFixedRange) {
  BuilderConfig config = Int8();
  config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
  NetworkDefinition net = JoinedNet("name: 'function' type: 'TanH' bottom: 'large' top: 'function'");
  net.SetRange("small", -0.01, 0.01);
  net.SetRange("large", -4, 4);
  net.SetRange("last", -1, 1);
  const std::vector<float> values = LastOf(config, net);
  EXPECT_NEAR(values[0], 1, 0.05);  // tanh(50), and 0.01 at most
}

}  // namespace
}  // namespace caffe::inference
