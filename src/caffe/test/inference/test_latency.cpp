// Latencies, LayerTimes and MeasureLoad.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <set>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

Latencies Of(const std::vector<double>& times) {
  Latencies latencies;
  for (const double time : times) latencies.Add(time);
  return latencies;
}

TEST(Latencies, HaveTheUsualFigures) {
  const Latencies four = Of({4, 1, 3, 2});
  EXPECT_EQ(four.Min(), 1);
  EXPECT_EQ(four.Max(), 4);
  EXPECT_EQ(four.Mean(), 2.5);
  EXPECT_EQ(four.Median(), 2.5);
  EXPECT_EQ(four.Total(), 10);
  EXPECT_EQ(Of({3, 1, 2}).Median(), 2);
}

TEST(Latencies, PercentilesAreTimesThatOccurred) {
  Latencies hundred;
  for (int i = 100; i > 0; --i) hundred.Add(i);
  EXPECT_EQ(hundred.Percentile(99), 99);
  EXPECT_EQ(hundred.Percentile(98.5), 99);
  EXPECT_EQ(hundred.Percentile(100), 100);
  EXPECT_EQ(hundred.Percentile(0), 1);
  EXPECT_EQ(Of({7}).Percentile(99), 7);
}

TEST(Latencies, RefuseWhatMakesNoSense) {
  ExpectContains(ErrorOf([] { Of({1}).Percentile(101); }), "from 0 to 100, not at 101");
  ExpectContains(ErrorOf([] { Latencies().Median(); }), "nothing was timed");
  ExpectContains(ErrorOf([] { Latencies().Mean(); }), "nothing was timed");
}

TEST(LayerTimes, AddUpByLayer) {
  LayerTimes times;
  for (const double time : {1.0, 3.0}) {
    times.ReportLayerTime("conv", time);
    times.ReportLayerTime("relu", 1);
  }
  ASSERT_EQ(times.layers().size(), 2u);
  EXPECT_EQ(times.layers()[0].name, "conv");
  EXPECT_EQ(times.layers()[0].times.Mean(), 2);
  EXPECT_EQ(times.Total(), 6);
  const std::string json = times.ToJson();
  ExpectContains(json, "\"count\": 2");
  ExpectContains(json, "\"name\": \"conv\"");
  ExpectContains(json, "\"timeMs\": 4");
  ExpectContains(json, "\"averageMs\": 2");
  ExpectContains(json, "\"percentage\": 66.6");
}

std::shared_ptr<const Engine> SmallEngine() {
  NetworkDefinition net("small");
  net.AddInput("x", {4, 2});
  net.AddLayer(
      ParseLayer("name: 'twice' type: 'Power' bottom: 'x' top: 'y' "
                 "power_param { scale: 2 }"));
  net.AddLayer(ParseLayer("name: 'prob' type: 'Softmax' bottom: 'y' top: 'prob'"));
  net.MarkOutput("prob");
  return Builder().Build(net);
}

TEST(MeasureLoad, RunsEachStreamAsOftenAsWanted) {
  for (const bool threads : {false, true}) {
    for (const int streams : {1, 3}) {
      LoadOptions options;
      options.iterations = 5;
      options.streams = streams;
      options.threads = threads;
      options.profile = true;
      const LoadResult result = MeasureLoad(SmallEngine(), options);
      EXPECT_EQ(result.latency.count(), size_t(5 * streams));
      EXPECT_EQ(result.batch, 4);
      EXPECT_GT(result.seconds, 0);
      EXPECT_DOUBLE_EQ(result.PerSecond(), 5 * streams * 4 / result.seconds);
      ASSERT_EQ(result.layers.layers().size(), 2u);
      EXPECT_EQ(result.layers.layers()[1].name, "prob");
      EXPECT_EQ(result.layers.layers()[1].times.count(), 5u) << "of the first stream";
    }
  }
}

TEST(MeasureLoad, TracesEachRun) {
  for (const bool threads : {false, true}) {
    for (const int streams : {1, 2}) {
      LoadOptions options;
      options.iterations = 3;
      options.streams = streams;
      options.threads = threads;
      options.idle_ms = 0.1;
      const LoadResult result = MeasureLoad(SmallEngine(), options);
      ASSERT_EQ(result.traces.size(), size_t(3 * streams));
      std::vector<int> of_stream(streams);
      double asked = 0;
      for (const RunTrace& trace : result.traces) {
        EXPECT_GE(trace.asked, asked) << "in their order";
        asked = trace.asked;
        EXPECT_GE(trace.begin, trace.asked);
        EXPECT_EQ(trace.inputs, trace.begin) << "a CPU copies nothing";
        EXPECT_EQ(trace.enqueued, trace.begin);
        EXPECT_GT(trace.computed, trace.begin);
        EXPECT_EQ(trace.end, trace.computed);
        EXPECT_LE(trace.end, result.seconds * 1000);
        ++of_stream.at(trace.stream);
      }
      EXPECT_EQ(of_stream, std::vector<int>(streams, 3));
      EXPECT_EQ(result.warm_up_runs, streams);
    }
  }
}

TEST(MeasureLoad, RunsContextsInTheirShapesOnTheirInputs) {
  std::vector<ExecutionContext> contexts;
  contexts.emplace_back(SmallEngine());
  contexts[0].SetInputShape("x", {1, 2});
  contexts[0].Input("x")[0] = 3;
  contexts[0].Input("x")[1] = 3;
  const LoadResult result = MeasureLoad(&contexts, {});
  EXPECT_EQ(result.batch, 1);
  EXPECT_EQ(contexts[0].Output("prob")[0], 0.5f);
  contexts.clear();
  ExpectContains(ErrorOf([&] { MeasureLoad(&contexts, {}); }), "no context");
}

/// Four words, looked up, and an image.
std::shared_ptr<const Engine> EngineOfWords(const BuilderConfig& config) {
  NetworkDefinition net("words");
  net.AddInput("words", {2, 2});
  net.AddInput("image", {2, 1, 1, 2});
  net.AddLayer(ParseLayer("name: 'embed' type: 'Embed' bottom: 'words' top: 'e' embed_param { "
                          "input_dim: 3 num_output: 1 bias_term: false }"),
               {Constant::Of({3, 1}, {0.f, 1.f, 2.f})});
  net.AddLayer(ParseLayer("name: 'abs' type: 'AbsVal' bottom: 'image' top: 'y'"));
  net.MarkOutput("e");
  net.MarkOutput("y");
  return Builder(config).Build(net);
}

TEST(FillWithNoise, KeepsTheConstantsThatTheEngineStores) {
  BuilderConfig config;
  config.preprocessing.emplace();
  config.preprocessing->constants["words"] = {2, 1};
  ExecutionContext context(EngineOfWords(config));
  FillWithNoise(1, &context);
  EXPECT_EQ(std::vector<float>(context.Input("words"), context.Input("words") + 4),
            (std::vector<float>{2, 1, 2, 1}));
}

TEST(FillWithNoise, GivesEmbedLayersIndices) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    ExecutionContext context(EngineOfWords({}));
    FillWithNoise(seed, &context);
    EXPECT_EQ(ErrorOf([&] { context.Run(); }), "");
    EXPECT_NE(context.Input("image")[0], std::floor(context.Input("image")[0]));
  }
}

/// Four words in a shape of their own, as nets have them, and items that are put in another order.
std::shared_ptr<const Engine> EngineOfIndices() {
  NetworkDefinition net("indices");
  net.AddInput("items", {4, 2});
  net.AddInput("order", {4});
  net.AddInput("words", {4, 1});
  net.AddLayer(
      ParseLayer("name: 'chosen' type: 'BatchReindex' bottom: 'items' bottom: 'order' "
                 "top: 'chosen'"));
  net.AddLayer(
      ParseLayer("name: 'flat' type: 'Flatten' bottom: 'words' top: 'flat' "
                 "flatten_param { axis: 0 }"));
  net.AddLayer(ParseLayer("name: 'embed' type: 'Embed' bottom: 'flat' top: 'e' embed_param { "
                          "input_dim: 3 num_output: 1 bias_term: false }"),
               {Constant::Of({3, 1}, {0.f, 1.f, 2.f})});
  net.MarkOutput("chosen");
  net.MarkOutput("e");
  return Builder().Build(net);
}

TEST(FillWithNoise, GivesIndicesOfTheBatchAndBehindLayersThatShareMemory) {
  for (const int batch : {1, 3, 4}) {
    ExecutionContext context(EngineOfIndices());
    context.SetBatch(batch);
    std::set<float> orders, words;
    for (unsigned seed = 1; seed < 20; ++seed) {
      FillWithNoise(seed, &context);
      EXPECT_EQ(ErrorOf([&] { context.Run(); }), "");
      orders.insert(context.Input("order"), context.Input("order") + batch);
      words.insert(context.Input("words"), context.Input("words") + batch);
    }
    EXPECT_EQ(orders.size(), size_t(batch));
    EXPECT_EQ(words, (std::set<float>{0, 1, 2}));
  }
}

TEST(MeasureLoad, StopsWhenItIsTold) {
  const std::atomic<bool> stop{true};
  LoadOptions options;
  options.iterations = 1000;
  options.seconds = std::numeric_limits<double>::infinity();
  options.stop = &stop;
  for (const int streams : {1, 2}) {
    options.streams = streams;
    EXPECT_EQ(MeasureLoad(SmallEngine(), options).traces.size(), size_t(streams));
  }
}

TEST(LoadResult, WritesTracesAsJson) {
  LoadResult result;
  RunTrace trace;
  trace.asked = 1;
  trace.begin = 2;
  trace.inputs = 4;
  trace.enqueued = 4.5;
  trace.computed = 8;
  trace.end = 16;
  result.traces = {trace, trace};
  google::protobuf::ListValue list;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.TracesToJson(), &list).ok());
  ASSERT_EQ(list.values_size(), 2);
  std::map<std::string, double> numbers;
  for (const auto& [key, value] : list.values(1).struct_value().fields()) {
    numbers[key] = value.number_value();
  }
  const std::map<std::string, double> expected = {
      {"startEnqMs", 4},     {"endEnqMs", 4.5},   {"startH2dMs", 2}, {"endH2dMs", 4},
      {"startInMs", 2},      {"endInMs", 4},      {"h2dMs", 2},      {"inMs", 2},
      {"startComputeMs", 4}, {"endComputeMs", 8}, {"computeMs", 4},  {"startD2hMs", 8},
      {"endD2hMs", 16},      {"startOutMs", 8},   {"endOutMs", 16},  {"d2hMs", 8},
      {"outMs", 8},          {"latencyMs", 14},   {"endToEndMs", 15}};
  EXPECT_EQ(numbers, expected);
}

TEST(MeasureLoad, RefusesImpossibleOptions) {
  const auto error = [](auto change) {
    LoadOptions options;
    change(&options);
    return ErrorOf([&] { MeasureLoad(SmallEngine(), options); });
  };
  ExpectContains(error([](LoadOptions* o) { o->iterations = 0; }), "iterations must be positive");
  ExpectContains(error([](LoadOptions* o) { o->streams = 0; }), "streams must be positive");
  ExpectContains(error([](LoadOptions* o) { o->threads_each = -1; }), "negative, got -1");
  ExpectContains(error([](LoadOptions* o) { o->batch = 5; }), "batch 5: engine 'small' is built");
  ExpectContains(error([](LoadOptions* o) { o->seconds = -1; }), "must not be negative, got -1");
  ExpectContains(error([](LoadOptions* o) { o->idle_ms = -2; }), "idle time must not be negative");
}

}  // namespace
}  // namespace caffe::inference
