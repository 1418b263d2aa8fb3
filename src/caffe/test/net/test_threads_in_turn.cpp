// Nets, solvers' passes and engines that several threads use one after another, or that one thread
// makes and another one destroys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/net_fixture.hpp"

namespace caffe {
namespace {

/// Layers that need scratch memory in oneDNN, where it computes them.
std::string LayersOn(int extent, const std::string& phase) {
  const std::string size = std::to_string(extent);
  return "force_backward: true state { phase: " + phase + R"( }
    layer { name: "data" type: "Input" top: "data"
            input_param { shape { dim: 2 dim: 6 dim: )" +
         size + " dim: " + size + R"( } } }
    layer { name: "grouped" type: "Convolution" bottom: "data" top: "grouped"
            convolution_param { num_output: 4 kernel_size: 3 group: 2 weight_filler { type: "msra" } } }
    layer { name: "dense" type: "Convolution" bottom: "grouped" top: "dense"
            convolution_param { num_output: 7 kernel_size: 5 pad: 2 weight_filler { type: "msra" } } }
    layer { name: "up" type: "Deconvolution" bottom: "dense" top: "up"
            convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "msra" } } }
    layer { name: "norm" type: "LRN" bottom: "up" top: "norm" }
    layer { name: "pool" type: "Pooling" bottom: "norm" top: "pool"
            pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
            inner_product_param { num_output: 5 weight_filler { type: "msra" } } }
    layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" })";
}

std::unique_ptr<Net<float>> NetOn(int extent, const std::string& phase = "TEST") {
  Caffe::set_random_seed(1);
  auto net = std::make_unique<Net<float>>(ParseNet(LayersOn(extent, phase)));
  FillWithSines(net->input_blobs()[0]);
  return net;
}

/// Outputs of a pass and, in training, the gradients of the inputs.
std::vector<float> PassOf(Net<float>* net) {
  net->Forward();
  const Blob<float>& y = *net->output_blobs()[0];
  std::vector<float> values(y.cpu_data(), y.cpu_data() + y.count());
  if (net->phase() == TEST) return values;
  Blob<float>& top = *net->output_blobs()[0];
  for (int i = 0; i < top.count(); ++i) top.mutable_cpu_diff()[i] = std::cos(0.3f * i);
  net->ClearParamDiffs();
  net->Backward();
  const Blob<float>& data = *net->input_blobs()[0];
  values.insert(values.end(), data.cpu_diff(), data.cpu_diff() + data.count());
  return values;
}

void InAnotherThread(const std::function<void()>& f) { std::thread(f).join(); }

class ThreadsInTurn : public ::testing::TestWithParam<std::string> {};

TEST_P(ThreadsInTurn, UseOneNet) {
  const std::vector<float> expected = PassOf(NetOn(24, GetParam()).get());
  for (const bool other_is_first : {false, true}) {
    const auto net = NetOn(24, GetParam());
    std::vector<float> there;
    if (!other_is_first) {
      EXPECT_EQ(PassOf(net.get()), expected);
    }
    InAnotherThread([&] { there = PassOf(net.get()); });
    EXPECT_EQ(there, expected);
    EXPECT_EQ(PassOf(net.get()), expected);
  }
}

TEST_P(ThreadsInTurn, DestroyEachOthersNets) {
  const auto own = NetOn(24, GetParam());
  const std::vector<float> expected = PassOf(own.get());
  std::unique_ptr<Net<float>> others;
  InAnotherThread([&] {
    others = NetOn(31, GetParam());
    PassOf(others.get());
  });
  others.reset();
  EXPECT_EQ(PassOf(own.get()), expected);
}

TEST_P(ThreadsInTurn, RunLargerNetsThanTheirOwn) {
  const auto large = NetOn(48, GetParam());
  const std::vector<float> expected = PassOf(large.get());
  InAnotherThread([&] {
    const auto small = NetOn(8, GetParam());
    PassOf(small.get());
    EXPECT_EQ(PassOf(large.get()), expected);
    PassOf(small.get());
  });
}

INSTANTIATE_TEST_SUITE_P(, ThreadsInTurn, ::testing::Values("TEST", "TRAIN"),
                         [](const auto& info) { return info.param; });

TEST(ExecutionContextInThreads, RunsInEachInTurn) {
  const auto net = NetOn(24);
  const inference::NetworkDefinition definition(inference::GraphOf(*net));
  const auto engine = inference::Builder(inference::BuilderConfig()).Build(definition);
  inference::ExecutionContext context(engine);
  const auto run = [&] {
    const Blob<float>& data = *net->input_blobs()[0];
    std::copy_n(data.cpu_data(), data.count(), context.Input("data"));
    context.Run();
    return std::vector<float>(context.Output("prob"), context.Output("prob") + 10);
  };
  std::vector<float> there;
  InAnotherThread([&] { there = run(); });
  EXPECT_EQ(run(), there);
}

/// Runs a net and an engine in its destructor: as a static object, when what the thread keeps for
/// its layers is gone.
struct RunsAtEnd {
  std::unique_ptr<Net<float>> net;
  std::unique_ptr<inference::ExecutionContext> context;
  std::vector<float> expected;

  // What runs first is destroyed last: oneDNN's own statics, too.
  explicit RunsAtEnd(const std::string& phase) : net(NetOn(24, phase)) {
    expected = PassOf(net.get());
    if (phase == "TRAIN") return;
    const inference::NetworkDefinition definition(inference::GraphOf(*net));
    context = std::make_unique<inference::ExecutionContext>(
        inference::Builder(inference::BuilderConfig()).Build(definition));
  }
  ~RunsAtEnd() {
    if (context) context->Run();
    std::cerr << (PassOf(net.get()) == expected ? "the same" : "something else") << std::endl;
  }
};

class ThreadsInTurnDeathTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ThreadsInTurnDeathTest, ThatEndHaveNetsInStatics) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    static const RunsAtEnd at_end(GetParam());
    std::exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "the same");
}

INSTANTIATE_TEST_SUITE_P(, ThreadsInTurnDeathTest, ::testing::Values("TEST", "TRAIN"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace caffe
