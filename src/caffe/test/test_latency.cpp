// Latencies, LayerTimes and MeasureLoad.
#include <gtest/gtest.h>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/latency.hpp"
#include "inference_test.hpp"
#include "test_files.hpp"

namespace caffe {
namespace inference {
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
}

}  // namespace
}  // namespace inference
}  // namespace caffe
