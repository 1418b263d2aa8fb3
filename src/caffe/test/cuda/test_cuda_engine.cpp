// Engines on a GPU: what they compute, where it lies, when the host waits, and what they say where
// they cannot work. On the tests' device, and on the machine's own if it has one.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "caffe/context.hpp"
#include "caffe/inference/backends/cuda/cuda_engine.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/lowered_nets.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

class LoweredForAGpu : public ::testing::TestWithParam<TypesCase> {};

TEST_P(LoweredForAGpu, ComputesTheSame) {
  OnEachDevice([] { ExpectTheSame(cuda::CudaTarget(), GetParam(), 30); });
}

TEST_P(LoweredForAGpu, ComputesTheSameInASmallerBatch) {
  OnEachDevice([] { ExpectTheSameInASmallerBatch(cuda::CudaTarget(), GetParam(), 20); });
}

INSTANTIATE_TEST_SUITE_P(Types, LoweredForAGpu, ::testing::ValuesIn(kTypesCases),
                         [](const auto& info) { return info.param.name; });

TEST(LoweredForAGpu, UsesEveryImplementationAtSomeTime) {
  const FakeDevice::Installed device;
  EXPECT_EQ(NeverUsed(cuda::CudaTarget(), NamesOf(cuda::CudaTarget())), std::set<std::string>());
}

/// A convolution with a residual, pooling, a Concat, an inner product and a Softmax.
const char kNet[] = R"(
  name: 'small' state { phase: TEST }
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 3 dim: 3 dim: 8 dim: 8
    } } }
  layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'a'
    convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }
  layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b'
    convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'sum' type: 'Eltwise' bottom: 'b' bottom: 'a' top: 'sum' }
  layer { name: 'pool' type: 'Pooling' bottom: 'sum' top: 'pool'
    pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: 'c' type: 'Convolution' bottom: 'pool' top: 'c'
    convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'join' type: 'Concat' bottom: 'pool' bottom: 'c' top: 'join' }
  layer { name: 'fc' type: 'InnerProduct' bottom: 'join' top: 'fc'
    inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
  layer { name: 'prob' type: 'Softmax' bottom: 'fc' top: 'prob' })";

/// Calls test(fake) in CPU mode on the tests' device, and again, with null, on the machine's own if
/// it has one.
void ForEachDevice(const std::function<void(const FakeDevice*)>& test) {
  {
    SCOPED_TRACE("fake device");
    const FakeDevice::Installed device;
    test(&*device);
  }
  if (!Device::available()) return;
  SCOPED_TRACE(Device::Get().name());
  test(nullptr);
}

int Launches(const FakeDevice* fake) { return fake ? fake->launches() : 0; }
int Waits(const FakeDevice* fake) { return fake ? fake->waits() : 0; }

/// That net with an input, made in CPU mode.
struct SmallNet {
  SmallNet() : net(ParseNet(kNet)) {
    Blob<float>& data = *net.input_blobs()[0];
    for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
    net.Forward();
  }
  const float* input() const { return net.input_blobs()[0]->cpu_data(); }
  size_t input_count() const { return net.input_blobs()[0]->count(); }
  Floats expected() const { return OutputsOf(net).at("prob"); }

  std::shared_ptr<const Engine> Build(Precision precision = Precision::FP32,
                                      int timing_iterations = 0) const {
    BuilderConfig config;
    config.backend = Backend::CUDA;
    config.precision = precision;
    config.timing_iterations = timing_iterations;
    if (precision == Precision::INT8 || precision == Precision::BEST) {
      config.calibration = std::make_shared<const CalibrationTable>(TableOf(net));
    }
    return Builder(config).Build(NetworkDefinition(GraphOf(net)));
  }
  /// What a context makes of the first items.
  Floats Run(ExecutionContext* context, int items = 3) const {
    context->SetBatch(items);
    std::copy_n(input(), input_count() / 3 * items, context->Input("data"));
    context->Run();
    return {context->Output("prob"), context->Output("prob") + 5 * items};
  }

  Net<float> net;
};

void ExpectClose(const Floats& expected, const Floats& actual, double bound = 1e-5) {
  ASSERT_LE(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], bound) << "element " << i;
  }
}

TEST(CudaEngine, ComputesWhatTheNetDoesInEveryPrecisionWhateverTheMode) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice*) {
    for (const auto& [precision, bound] : std::map<Precision, double>{{Precision::FP32, 1e-5},
                                                                      {Precision::FP16, 5e-3},
                                                                      {Precision::BF16, 3e-2},
                                                                      {Precision::INT8, 5e-2},
                                                                      {Precision::BEST, 5e-2}}) {
      SCOPED_TRACE(Name(precision));
      ExecutionContext context(net.Build(precision));
      ExpectClose(net.expected(), net.Run(&context), bound);
      EXPECT_EQ(Caffe::mode(), Caffe::CPU);
    }
  });
}

TEST(CudaEngine, IntegersHaveASignAsTensorCoresWantThem) {
  const SmallNet net;
  const FakeDevice::Installed device;
  const auto engine = net.Build(Precision::INT8);
  std::set<ElementType> types;
  for (const Value& value : engine->graph()->values) types.insert(value.type);
  EXPECT_TRUE(types.count(ElementType::INT8));
  EXPECT_FALSE(types.count(ElementType::UINT8));
}

TEST(CudaEngine, IsBuiltByMeasurement) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice*) {
    const auto engine = net.Build(Precision::BEST, 1);
    for (const LayerInfo& layer : engine->layers()) {
      if (layer.type != "Convolution") continue;
      EXPECT_GT(layer.microseconds, 0) << layer.name;
    }
    ExecutionContext context(engine);
    ExpectClose(net.expected(), net.Run(&context), 5e-2);
  });
}

TEST(CudaEngine, LayersWithWeightsAreFusedAndConcatIsFree) {
  const SmallNet net;
  const FakeDevice::Installed device;
  const auto engine = net.Build(Precision::FP16);
  const Graph& graph = *engine->graph();
  SCOPED_TRACE(ToText(graph));
  for (const char* absent : {"relu", "sum"}) EXPECT_EQ(graph.FindNode(absent), -1) << absent;
  for (const char* name : {"a", "b", "c"}) {
    const Node& node = graph.nodes[graph.FindNode(name)];
    EXPECT_EQ(node.implementation.substr(0, 11), "convolution");
    EXPECT_EQ(node.math, ElementType::FLOAT16);
    EXPECT_EQ(graph.values[node.outputs[0]].layout, Layout::CHANNELS_LAST);
  }
  EXPECT_TRUE(IsFree(graph, graph.nodes[graph.FindNode("join")]));
}

TEST(CudaEngine, IsOneRecordingFromTheSecondRunInAShapeOn) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice* fake) {
    ExecutionContext context(net.Build());
    const auto launches = [&](int items) {
      const int before = Launches(fake);
      ExpectClose(net.expected(), net.Run(&context, items));
      return Launches(fake) - before;
    };
    context.SetBatch(3);
    std::copy_n(net.input(), net.input_count(), context.Input("data"));
    for (const int expected : {0, 1, 1}) {
      const int before = Launches(fake);
      context.Run();
      if (fake) {
        EXPECT_EQ(Launches(fake) - before, expected);
      }
      ExpectClose(net.expected(), {context.Output("prob"), context.Output("prob") + 15});
    }
    const int of_another_shape = launches(2);
    EXPECT_EQ(of_another_shape, 0);
    context.Run();
    ExpectClose(net.expected(), {context.Output("prob"), context.Output("prob") + 10});
  });
}

TEST(CudaEngine, IsRecordedBehindARunThatHasSucceeded) {
  const SmallNet net;
  const FakeDevice::Installed device;
  ExecutionContext context(net.Build());
  device->Refuse("kernel", 3);
  ExpectContains(ErrorOf([&] { net.Run(&context); }), "refused a kernel");
  for (const int launches : {0, 1, 2}) {
    ExpectClose(net.expected(), net.Run(&context));
    EXPECT_EQ(device->launches(), launches);
  }
}

TEST(CudaEngine, ComputesStepByStepWhereRecordingFails) {
  const SmallNet net;
  const FakeDevice::Installed device;
  {
    ExecutionContext context(net.Build());
    ExpectClose(net.expected(), net.Run(&context));
    device->Refuse("kernel", 3);
    for (int run = 0; run < 3; ++run) ExpectClose(net.expected(), net.Run(&context));
    ExpectClose(net.expected(), net.Run(&context, 2));
  }
  EXPECT_EQ(device->launches(), 0);
  EXPECT_EQ(device->bytes_in_use(), 0u);
  EXPECT_EQ(device->bad_frees(), 0);
  EXPECT_EQ(device->unseen_failures(), 0);
}

/// Device memory with these elements.
struct OnDevice {
  OnDevice(const float* values, size_t count) : bytes(count * sizeof(float)) {
    data = Device::Get().Allocate(bytes);
    if (values) Device::Get().CopyToDevice(data, values, bytes, Context::Current().stream());
    Context::Current().stream().Synchronize();
  }
  ~OnDevice() { Device::Get().Free(data, bytes); }
  Floats Read(Stream& stream) const {
    Floats values(bytes / sizeof(float));
    Device::Get().CopyToHost(values.data(), data, bytes, stream);
    stream.Synchronize();
    return values;
  }
  const size_t bytes;
  void* data;
};

TEST(CudaEngine, EnqueuesOnTheCallersStreamFromAndToItsMemoryWithoutWaiting) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice* fake) {
    ExecutionContext context(net.Build());
    const std::unique_ptr<Stream> stream = Device::Get().CreateStream();
    const OnDevice data(net.input(), net.input_count()), first(nullptr, 15), second(nullptr, 15);
    const OnDevice* const outputs[] = {&first, &first, &first, &second, &second};
    for (const OnDevice* output : outputs) {
      // Only its copies to the host wait.
      const int waits = Waits(fake);
      context.Enqueue(*stream, {{"data", data.data}, {"prob", output->data}});
      EXPECT_EQ(Waits(fake), waits);
      ExpectClose(net.expected(), output->Read(*stream));
    }
    if (fake) {
      EXPECT_EQ(fake->launches(), 3) << "of the first two and the last run in the same places";
    }
    ExpectClose(net.expected(), net.Run(&context));  // in its own memory again
  });
}

TEST(CudaEngine, TellsWhenARunDidWhat) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice* fake) {
    ExecutionContext context(net.Build());
    RunTimes times;
    context.SetRunTimes(&times);
    for (int run = 0; run < 3; ++run) ExpectClose(net.expected(), net.Run(&context));
    EXPECT_GT(times.inputs, times.begin);
    EXPECT_GT(times.enqueued, times.inputs);
    EXPECT_GT(times.computed, times.enqueued);
    EXPECT_GT(times.end, times.computed);
    if (fake) {
      EXPECT_EQ(fake->launches(), 2) << "as one graph from the second run on, as ever";
    }
    context.SetRunTimes(nullptr);
    const RunTimes::Time end = times.end;
    net.Run(&context);
    EXPECT_EQ(times.end, end) << "times are no longer asked for";
  });
}

TEST(CudaEngine, RunsWithoutTransfersCopyNothing) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice*) {
    ExecutionContext context(net.Build());
    net.Run(&context);
    RunTimes times;
    context.SetRunTimes(&times, /*transfers=*/false);
    float* const output = const_cast<float*>(context.Output("prob"));
    output[0] = 7;
    context.Run();
    EXPECT_EQ(context.Output("prob")[0], 7) << "of before";
    EXPECT_GT(times.computed, times.begin);
  });
}

TEST(CudaEngine, WhatAFailedEnqueueHasBegunEndsBeforeItsMemoryGoes) {
  const SmallNet net;
  const FakeDevice::Installed device;
  auto context = std::make_unique<ExecutionContext>(net.Build());
  const std::unique_ptr<Stream> stream = Device::Get().CreateStream();
  const OnDevice data(net.input(), net.input_count()), prob(nullptr, 15);
  device->Refuse("kernel", 4);
  ExpectContains(ErrorOf([&] {
                   context->Enqueue(*stream, {{"data", data.data}, {"prob", prob.data}});
                 }),
                 "refused a kernel");
  context.reset();
  stream->Synchronize();
  EXPECT_EQ(device->unseen_failures(), 0);
  EXPECT_EQ(device->written_after_free(), 0);
}

TEST(CudaEngine, WeightsOutliveWhatAnotherContextHasEnqueued) {
  const SmallNet net;
  const FakeDevice::Installed device;
  const auto engine = net.Build();
  auto first = std::make_unique<ExecutionContext>(engine);
  auto second = std::make_unique<ExecutionContext>(engine);
  const std::unique_ptr<Stream> stream = Device::Get().CreateStream();
  const OnDevice data(net.input(), net.input_count()), prob(nullptr, 15);
  second->Enqueue(*stream, {{"data", data.data}, {"prob", prob.data}});
  first.reset();
  second.reset();
  ExpectClose(net.expected(), prob.Read(*stream));
  EXPECT_EQ(device->unseen_failures(), 0);
}

TEST(CudaEngine, EnqueueNamesWhatIsMissingOrTooMuch) {
  const SmallNet net;
  const FakeDevice::Installed device;
  ExecutionContext context(net.Build());
  Stream& stream = Context::Current().stream();
  const OnDevice memory(nullptr, 1000);
  const auto message = [&](const std::map<std::string, void*>& places) {
    return ErrorOf([&] { context.Enqueue(stream, places); });
  };
  char* const place = static_cast<char*>(memory.data);
  ExpectContains(message({{"data", place}}), "output 'prob' of engine 'small' has no place");
  ExpectContains(message({{"data", place + 4}, {"prob", place}}), "multiple of 16");
  ExpectContains(message({{"data", place}, {"prob", place}, {"probs", place}}),
                 "no input or output 'probs'");
}

TEST(CudaEngine, SeveralContextsComputeAtTheSameTimeAndShareTheWeights) {
  const SmallNet net;
  const FakeDevice::Installed device;
  const auto engine = net.Build();
  auto first = std::make_unique<ExecutionContext>(engine);
  const size_t with_one = device->bytes_in_use();
  {
    const ExecutionContext second(engine);
    EXPECT_LE(device->bytes_in_use() - with_one, with_one - engine->weight_bytes());
  }
  std::vector<std::future<void>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::async(std::launch::async, [&] {
      ExecutionContext context(engine);
      for (int run = 0; run < 5; ++run) ExpectClose(net.expected(), net.Run(&context));
    }));
  }
  for (auto& one : all) one.get();
  first.reset();
  EXPECT_EQ(device->bytes_in_use(), 0u);
  EXPECT_EQ(device->bad_frees(), 0);
  EXPECT_EQ(device->unseen_failures(), 0);
  EXPECT_EQ(device->written_after_free(), 0);
}

TEST(CudaEngine, ParametersOfLayersAreOnTheDeviceOnce) {
  Net<float> net(ParseNet(R"(
    name: 'words' state { phase: TEST }
    layer { name: 'ids' type: 'Input' top: 'ids' input_param { shape { dim: 2 dim: 3 } } }
    layer { name: 'embed' type: 'Embed' bottom: 'ids' top: 'embed'
      embed_param { input_dim: 1000 num_output: 100 weight_filler { type: 'uniform' } } })"));
  const FakeDevice::Installed device;
  BuilderConfig config;
  config.backend = Backend::CUDA;
  config.timing_iterations = 0;
  ExecutionContext context(Builder(config).Build(NetworkDefinition(GraphOf(net))));
  context.Run();
  constexpr size_t kOnce = 1000 * 100 * sizeof(float);
  EXPECT_GE(device->bytes_in_use(), kOnce);
  EXPECT_LT(device->bytes_in_use(), 3 * kOnce / 2);
}

/// Channels last are made slow.
class PlainTiming : public Timing {
 public:
  PlainTiming() : Timing(cuda::CudaTarget(), 0, nullptr, 0) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    Timing::Of(context, node, candidate);
    const auto last = [](const std::vector<Format>& formats) {
      return std::any_of(formats.begin(), formats.end(),
                         [](const Format& f) { return f.layout == Layout::CHANNELS_LAST; });
    };
    return last(candidate.inputs) || last(candidate.outputs) ? 1e9 : 1;
  }
};

// On the tests' device kernels that stand for cuDNN's refuse other addresses than cuDNN is
// promised.
TEST(CudaEngine, PartsThatBeginWhereCudnnCannotAreCopied) {
  Net<float> net(ParseNet(R"(
    name: 'parts' state { phase: TEST }
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 7 dim: 7
      } } }
    layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'a'
      convolution_param { num_output: 5 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
    layer { name: 'b' type: 'Convolution' bottom: 'data' top: 'b'
      convolution_param { num_output: 5 kernel_size: 1 weight_filler { type: 'xavier' } } }
    layer { name: 'join' type: 'Concat' bottom: 'a' bottom: 'b' top: 'join' })"));
  Blob<float>& data = *net.input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
  net.Forward();
  const FakeDevice::Installed device;
  const auto lower = [](Graph optimized) {
    LoweringOptions options;
    options.maths.assign(optimized.nodes.size(), {ElementType::FLOAT});
    options.ranges.resize(optimized.values.size());
    PlainTiming timing;
    return Lower(std::move(optimized), options, &timing);
  };
  const Graph graph = LoweredBy(lower, GraphOf(net));
  SCOPED_TRACE(ToText(graph));
  const Value& second = graph.values[graph.FindValue("b")];
  ASSERT_EQ(second.layout, Layout::PLAIN);
  ASSERT_EQ(second.view.offset, 5) << "980 bytes";
  ExpectSame(OutputsOf(net), RunGraph(graph, InputsOf(net)), 1e-5);
}

TEST(CudaEngine, ObserversAndProfilersSeeEachLayer) {
  const SmallNet net;
  ForEachDevice([&](const FakeDevice*) {
    struct Names : public Profiler {
      void ReportLayerTime(const std::string& layer, double) override { names.insert(layer); }
      std::set<std::string> names;
    } profiler;
    ExecutionContext context(net.Build(Precision::FP16));
    context.SetProfiler(&profiler);
    std::map<std::string, Floats> seen;
    context.SetObserver([&](const std::string& blob, const Shape& shape, const float* values) {
      seen[blob] = {values, values + CountOf(shape)};
    });
    ExpectClose(net.expected(), net.Run(&context), 5e-3);
    EXPECT_TRUE(profiler.names.count("prob"));
    const Blob<float>& join = *net.net.blob_by_name("join");
    ExpectClose({join.cpu_data(), join.cpu_data() + join.count()}, seen["join"], 2e-2);
  });
}

TEST(CudaEngine, PlansAreForTheGpuThatTheyWereBuiltOn) {
  const std::string plan = NewFileName();
  const SmallNet net;
  {
    const FakeDevice::Installed device;
    net.Build(Precision::FP16)->Save(plan);
    ExecutionContext context(Engine::Load(plan));
    ExpectClose(net.expected(), net.Run(&context), 5e-3);
  }
  struct Another : public FakeDevice {
    Another() : FakeDevice(1 << 20) {}
    std::string name() const override { return "another device"; }
  };
  const auto previous = Device::Set(std::make_shared<Another>());
  const std::string other = ErrorOf([&] { Engine::Load(plan); });
  Device::Set(previous);
  ExpectContains(other, "GPU: fake device");
  ExpectContains(other, "this is Cortado");
  ExpectContains(other, "another device");
  if (!Device::available()) {
    ExpectContains(ErrorOf([&] { Engine::Load(plan); }), "no GPU can be used");
  }
}

TEST(CudaEngine, WithoutMemoryItSaysWhatForAndLeavesNothingBehind) {
  const SmallNet net;
  std::shared_ptr<const Engine> engine;
  {
    const FakeDevice::Installed device;
    engine = net.Build();
  }
  for (const size_t memory : {1000, 12'000, 20'000, 30'000}) {
    const FakeDevice::Installed device(memory);
    ExpectContains(ErrorOf([&] {
                     ExecutionContext context(engine);
                     net.Run(&context);
                   }),
                   "bytes were asked for");
    EXPECT_EQ(device->bytes_in_use(), 0u) << memory;
  }
}

/// A layer that only the CPU knows and that is no part of the library.
class MinusOneLayer : public Layer<float> {
 public:
  explicit MinusOneLayer(const LayerParameter& param) : Layer<float>(param) {}
  const char* type() const override { return "MinusOne"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = bottom[0]->cpu_data()[i] - 1;
    }
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};
boost::shared_ptr<Layer<float>> MakeMinusOne(const LayerParameter& param) {
  return boost::shared_ptr<Layer<float>>(new MinusOneLayer(param));
}
const LayerRegisterer<float> minus_one_registered("MinusOne", MakeMinusOne);

TEST(CudaEngine, LayersWithoutKernelsRunOnTheCpuInside) {
  NetworkDefinition net("net");
  net.AddInput("x", {2, 3, 4, 4});
  net.AddLayer(ParseLayer("name: 'minus' type: 'MinusOne' bottom: 'x' top: 'y'"));
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'y' top: 'z'"));
  net.MarkOutput("z");
  const FakeDevice::Installed device;
  BuilderConfig config;
  config.backend = Backend::CUDA;
  config.timing_iterations = 2;
  ExecutionContext context(Builder(config).Build(net));
  for (int run = 0; run < 3; ++run) {
    for (int i = 0; i < 96; ++i) context.Input("x")[i] = static_cast<float>(i % 4 + run);
    context.Run();
    for (int i = 0; i < 96; ++i) EXPECT_EQ(context.Output("z")[i], std::max(0, i % 4 + run - 1));
  }
  EXPECT_EQ(device->launches(), 0) << "a custom layer was recorded";
}

}  // namespace
}  // namespace caffe::inference
