// What a user of an ExecutionContext relies on: its queue, profiler, observer, shapes, threads; and
// how an engine describes itself.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "caffe/inference/builder.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/random_nets.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

/// Without the time that timing takes.
std::shared_ptr<const Engine> Built(const NetworkDefinition& net, Backend backend = Backend::CPU,
                                    const std::vector<std::string>& skip_passes = {}) {
  BuilderConfig config;
  config.backend = backend;
  config.timing_iterations = 0;
  config.skip_passes = skip_passes;
  return Builder(config).Build(net);
}

/// What the layer below does; a test sets it.
struct Switches {
  std::atomic<int> threads{0};  // that shared loops in the latest pass
  std::atomic<bool> fails{false};
  std::shared_future<void> gate;  // valid: a pass waits for it
};
Switches switches;

/// Adds 1. Waits and fails in a pass as the switches say; throws what is no Error where a bottom
/// has 13 elements.
class SwitchedLayer : public Layer<float> {
 public:
  explicit SwitchedLayer(const LayerParameter& param) : Layer<float>(param) {}
  const char* type() const override { return "Switched"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    if (bottom[0]->count() == 13) throw std::out_of_range("thirteen");
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    switches.threads = Caffe::threads();
    if (switches.gate.valid()) switches.gate.wait();
    Require(!switches.fails, "it was told to fail");
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = bottom[0]->cpu_data()[i] + 1;
    }
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};

boost::shared_ptr<Layer<float>> MakeSwitched(const LayerParameter& param) {
  return boost::shared_ptr<Layer<float>>(new SwitchedLayer(param));
}

/// y = x + 1, of up to 20 elements.
NetworkDefinition PlusOneNet() {
  static const bool registered = [] {
    LayerRegistry<float>::AddCreator("Switched", MakeSwitched);
    return true;
  }();
  (void)registered;
  NetworkDefinition net("plus one");
  net.AddInput("x", {20});
  net.AddLayer(ParseLayer("name: 'plus' type: 'Switched' bottom: 'x' top: 'y'"));
  net.MarkOutput("y");
  return net;
}

std::shared_ptr<const Engine> PlusOne(Backend backend = Backend::CPU) {
  return Built(PlusOneNet(), backend);
}

class Queue : public ::testing::Test {
 protected:
  void SetUp() override {
    context_.SetBatch(1);
    context_.Input("x")[0] = 0;
  }
  void TearDown() override {
    switches.fails = false;
    switches.gate = {};
  }
  /// Closes the layer; the runs go on when the result is set.
  std::promise<void> Close() {
    std::promise<void> opened;
    switches.gate = opened.get_future().share();
    return opened;
  }

  const std::thread::id main_ = std::this_thread::get_id();
  ExecutionContext context_{PlusOne()};
};

TEST(ThreadsOfContexts, AreThoseThatItWasMadeWithInEveryThread) {
  std::unique_ptr<ExecutionContext> context;
  {
    const kernels::TeamSize team(3);
    context = std::make_unique<ExecutionContext>(PlusOne());
  }
  EXPECT_EQ(context->threads(), 3);
  const int before = Caffe::threads();
  context->Run();
  EXPECT_EQ(switches.threads, 3);
  EXPECT_EQ(Caffe::threads(), before) << "the caller has its own number again";
  context->Enqueue().get();
  EXPECT_EQ(switches.threads, 3);
  std::thread([&context] { context->Run(); }).join();
  EXPECT_EQ(switches.threads, 3);
}

TEST(ThreadsOfContexts, MayBeGiven) {
  ExecutionContext context(PlusOne(), 2);
  EXPECT_EQ(context.threads(), 2);
  context.Run();
  EXPECT_EQ(switches.threads, 2);
  ExpectContains(ErrorOf([] { ExecutionContext(PlusOne(), -1); }), "at least 1 thread");
}

TEST(ThreadsOfContexts, AreWhatAnEngineIsTunedFor) {
  const auto engine = PlusOne();
  EXPECT_EQ(engine->tuned_threads(), 0) << "nothing was timed";
  const NetworkDefinition net = PlusOneNet();
  BuilderConfig config;
  config.threads = 3;
  const auto timed = Builder(config).Build(net);
  EXPECT_EQ(timed->tuned_threads(), 3);
  const std::string file = NewFileName();
  timed->Save(file);
  EXPECT_EQ(Engine::Load(file)->tuned_threads(), 3);
  config.threads = -1;
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "threads must not be negative");
}

TEST_F(Queue, FulfilsItsFutureWhenTheRunIsDone) {
  std::promise<void> opened = Close();
  std::future<void> done = context_.Enqueue();
  EXPECT_EQ(done.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  opened.set_value();
  done.get();
  EXPECT_EQ(context_.Output("y")[0], 1);
}

// Each run's callback sees its outputs and gives the next one its inputs.
TEST_F(Queue, RunsInTheOrderOfTheCalls) {
  std::promise<void> opened = Close();
  std::vector<int> order;
  std::vector<float> outputs;
  for (int i = 0; i < 5; ++i) {
    context_.Enqueue([&, i](std::exception_ptr error) {
      EXPECT_EQ(error, nullptr);
      EXPECT_NE(std::this_thread::get_id(), main_);
      order.push_back(i);
      outputs.push_back(context_.Output("y")[0]);
      context_.Input("x")[0] = outputs.back();
    });
  }
  EXPECT_TRUE(order.empty());
  std::future<void> last = context_.Enqueue();
  opened.set_value();
  last.get();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(outputs, (Floats{1, 2, 3, 4, 5}));
  EXPECT_EQ(context_.Output("y")[0], 6);
}

TEST_F(Queue, HandsOnWhatARunThrows) {
  switches.fails = true;
  std::future<void> failed = context_.Enqueue();
  ExpectContains(ErrorOf([&] { failed.get(); }), "layer 'plus' (Switched): it was told to fail");
  std::promise<std::string> message;
  context_.Enqueue([&](std::exception_ptr error) {
    message.set_value(ErrorOf([&] { std::rethrow_exception(error); }));
  });
  ExpectContains(message.get_future().get(), "it was told to fail");
  ExpectContains(ErrorOf([&] { context_.Run(); }), "it was told to fail");
  switches.fails = false;
  context_.Enqueue().get();
  EXPECT_EQ(context_.Output("y")[0], 1);
}

TEST_F(Queue, IsFedByItsCallbacks) {
  std::promise<float> result;
  std::function<void(std::exception_ptr)> next = [&](std::exception_ptr) {
    const float y = context_.Output("y")[0];
    if (y == 4) return result.set_value(y);
    context_.Input("x")[0] = y;
    context_.Enqueue(next);
  };
  context_.Enqueue(next);
  EXPECT_EQ(result.get_future().get(), 4);
}

TEST_F(Queue, MovesWithItsContext) {
  context_.Enqueue().get();
  ExecutionContext moved = std::move(context_);
  EXPECT_EQ(moved.Output("y")[0], 1);
  moved.Input("x")[0] = 5;
  moved.Enqueue().get();
  EXPECT_EQ(moved.Output("y")[0], 6);
  context_ = std::move(moved);
  context_.Input("x")[0] = 7;
  context_.Enqueue().get();
  EXPECT_EQ(context_.Output("y")[0], 8);
}

TEST_F(Queue, IsEmptyWhenTheContextIsGone) {
  std::atomic<int> done{0};
  std::promise<void> opened = Close();
  std::thread opener;
  {
    ExecutionContext context(PlusOne());
    for (int i = 0; i < 3; ++i) context.Enqueue([&](std::exception_ptr) { ++done; });
    EXPECT_EQ(done, 0);
    opener = std::thread([&] { opened.set_value(); });
  }
  EXPECT_EQ(done, 3);
  opener.join();
}

TEST_F(Queue, NeedsAFunction) {
  ExpectContains(ErrorOf([&] { context_.Enqueue(nullptr); }), "no function to call");
}

TEST(ExecutionContext, NeedsAnEngine) {
  ExpectContains(ErrorOf([] { ExecutionContext context(nullptr); }), "needs an engine");
}

TEST(ExecutionContext, SaysThatItWasMoved) {
  ExecutionContext context(PlusOne());
  const ExecutionContext other = std::move(context);
  ExpectContains(ErrorOf([&] { context.batch(); }), "was moved to another one");
  EXPECT_EQ(other.batch(), 20);
}

// ------------------------------------------------------------------ profiler and observer

/// conv (of 2 channels, +1 and -1 times x) and relu, which is joined to it; a Concat of it with x
/// and a Flatten, of which nothing is left; an inner product that adds up.
NetworkDefinition Watched() {
  NetworkDefinition net("watched");
  net.AddInput("x", {2, 1, 1, 2});
  net.AddLayer(ParseLayer("name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv' "
                          "convolution_param { num_output: 2 kernel_size: 1 bias_term: false }"),
               {Constant::Of({2, 1, 1, 1}, {1, -1})});
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'conv' top: 'relu'"));
  net.AddLayer(
      ParseLayer("name: 'power' type: 'Power' bottom: 'x' top: 'power' "
                 "power_param { power: 2 }"));
  net.AddLayer(
      ParseLayer("name: 'both' type: 'Concat' bottom: 'relu' bottom: 'power' top: 'both'"));
  net.AddLayer(ParseLayer("name: 'flat' type: 'Flatten' bottom: 'both' top: 'flat'"));
  net.AddLayer(ParseLayer("name: 'sum' type: 'InnerProduct' bottom: 'flat' top: 'sum' "
                          "inner_product_param { num_output: 1 bias_term: false }"),
               {Constant::Of({1, 6}, {1, 1, 1, 1, 1, 1})});
  net.MarkOutput("sum");
  return net;
}

class Times : public Profiler {
 public:
  void ReportLayerTime(const std::string& layer, double milliseconds) override {
    layers.push_back(layer);
    EXPECT_GE(milliseconds, 0);
  }
  std::vector<std::string> layers;
};

TEST(Profilers, AreToldOfEachLayerThatRuns) {
  for (const Backend backend : {Backend::REFERENCE, Backend::CPU}) {
    ExecutionContext context(Built(Watched(), backend));
    std::vector<std::string> layers;
    for (const LayerInfo& layer : context.engine().layers()) layers.push_back(layer.name);
    Times times;
    context.SetProfiler(&times);
    context.Run();
    EXPECT_EQ(times.layers, layers);
    context.Enqueue().get();
    EXPECT_EQ(times.layers.size(), 2 * layers.size());
    context.SetProfiler(nullptr);
    context.Run();
    EXPECT_EQ(times.layers.size(), 2 * layers.size());
  }
}

class WatchedBlobs : public ::testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Backends, WatchedBlobs,
                         ::testing::Values(Backend::REFERENCE, Backend::CPU));

// A backend may insert layers, whose blobs have other names.
TEST_P(WatchedBlobs, AreWhatEachLayerHasMade) {
  ExecutionContext context(Built(Watched(), GetParam()));
  context.SetBatch(1);
  std::vector<std::string> order;
  std::map<std::string, std::pair<Shape, Floats>> seen;
  context.SetObserver([&](const std::string& blob, const Shape& shape, const float* values) {
    order.push_back(blob);
    seen[blob] = {shape, Floats(values, values + CountOf(shape))};
  });
  const Floats x = {3, -2};
  std::copy(x.begin(), x.end(), context.Input("x"));
  context.Run();
  if (GetParam() == Backend::REFERENCE) {
    EXPECT_EQ(order, (std::vector<std::string>{"relu", "power", "both", "flat", "sum"}));
  }
  EXPECT_EQ(seen["relu"], std::make_pair(Shape{1, 2, 1, 2}, Floats{3, 0, 0, 2}));
  EXPECT_EQ(seen["power"], std::make_pair(Shape{1, 1, 1, 2}, Floats{9, 4}));
  EXPECT_EQ(seen["both"], std::make_pair(Shape{1, 3, 1, 2}, Floats{3, 0, 0, 2, 9, 4}));
  EXPECT_EQ(seen["flat"], std::make_pair(Shape{1, 6}, Floats{3, 0, 0, 2, 9, 4}));
  EXPECT_EQ(seen["sum"], std::make_pair(Shape{1, 1}, Floats{18}));
  const size_t blobs = order.size();
  context.SetObserver(nullptr);
  context.Run();
  EXPECT_EQ(order.size(), blobs);
}

TEST(Observers, EndARunWithWhatTheyThrow) {
  ExecutionContext context(Built(Watched()));
  context.SetObserver([](const std::string& blob, const Shape&, const float*) {
    if (blob == "power") throw std::out_of_range("enough");
  });
  EXPECT_THROW(context.Run(), std::out_of_range);
  EXPECT_THROW(context.Enqueue().get(), std::out_of_range);
  context.SetObserver(nullptr);
  EXPECT_NO_THROW(context.Run());
}

// In a random net every remaining blob has the value that it has in the net.
TEST(Observers, SeeTheBlobsOfTheNet) {
  const unsigned seed = TestSeed();
  RandomNet random(seed);
  SCOPED_TRACE(Join("seed ", seed, "\n", random.text()));
  const std::unique_ptr<Net<float>> net = random.Make();
  const NamedValues inputs = InputsOf(*net);
  const Graph graph = GraphOf(*net);
  NamedValues expected, seen;
  const auto run = [&](const Graph& of, NamedValues* values) {
    ExecutionContext context(std::make_shared<const Engine>(of));
    for (const std::string& input : context.engine().inputs()) {
      std::copy(inputs.at(input).begin(), inputs.at(input).end(), context.Input(input));
    }
    context.SetObserver([&](const std::string& blob, const Shape& shape, const float* elements) {
      EXPECT_TRUE(values->emplace(blob, Floats(elements, elements + CountOf(shape))).second);
    });
    context.Run();
  };
  run(graph, &expected);
  run(PlanMemory(MakeViews(graph)), &seen);
  ExpectSame(expected, seen, 0);
}

// ------------------------------------------------------------------ shapes

constexpr char kConvolutions[] = R"(
  layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 2 dim: SIZE dim: SIZE } } }
  layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 3
    kernel_size: 3 pad: 1 weight_filler { type: 'constant' value: 0.25 } } }
  layer { name: 'b' type: 'Convolution' bottom: 'x' top: 'b' convolution_param { num_output: 2
    kernel_size: 1 weight_filler { type: 'constant' value: -0.5 } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }
  layer { name: 'both' type: 'Concat' bottom: 'a' bottom: 'b' top: 'both' }
  layer { name: 'pool' type: 'Pooling' bottom: 'both' top: 'pool' pooling_param { pool: AVE
    kernel_size: 3 stride: 2 } })";

std::shared_ptr<const Engine> Convolutions(int size, Backend backend) {
  std::string text = kConvolutions;
  for (size_t at; (at = text.find("SIZE")) != std::string::npos;) {
    text.replace(at, 4, std::to_string(size));
  }
  return Built(NetworkDefinition::FromCaffe(ParseNet(text), {}), backend);
}

/// The output for an input of 0.5, -1, 1.5, -2, ... in the shape of now.
Floats RunOnRamp(ExecutionContext* context, const std::string& output) {
  for (const std::string& input : context->engine().inputs()) {
    const size_t count = CountOf(context->InputShape(input));
    for (size_t i = 0; i < count; ++i) {
      context->Input(input)[i] = (i % 2 ? -0.5f : 0.5f) * static_cast<float>(i + 1);
    }
  }
  context->Run();
  const float* values = context->Output(output);
  return Floats(values, values + CountOf(context->OutputShape(output)));
}

class ShapesOfInputs : public ::testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Backends, ShapesOfInputs,
                         ::testing::Values(Backend::REFERENCE, Backend::CPU));

TEST_P(ShapesOfInputs, ComputeWhatAnEngineOfTheirSizeDoes) {
  ExecutionContext context(Convolutions(9, GetParam()));
  const Floats built = RunOnRamp(&context, "pool");
  for (const int size : {7, 4, 8}) {
    context.SetInputShape("x", {2, 2, size, size});
    EXPECT_EQ(context.InputShape("x"), (Shape{2, 2, size, size}));
    ExecutionContext own(Convolutions(size, GetParam()));
    EXPECT_EQ(RunOnRamp(&context, "pool"), RunOnRamp(&own, "pool")) << size;
    EXPECT_EQ(context.OutputShape("pool"), own.OutputShape("pool"));
  }
  context.SetInputShape("x", {2, 2, 9, 9});
  EXPECT_EQ(RunOnRamp(&context, "pool"), built);
}

TEST_P(ShapesOfInputs, MayBeWiderWithNoMoreElements) {
  ExecutionContext context(Convolutions(8, GetParam()));
  context.SetInputShape("x", {1, 2, 4, 20});
  RunOnRamp(&context, "pool");
  EXPECT_EQ(context.OutputShape("pool"), (Shape{1, 5, 2, 10}));
}

TEST_P(ShapesOfInputs, StayWhenTheBatchChanges) {
  ExecutionContext context(Convolutions(8, GetParam()));
  context.SetInputShape("x", {2, 2, 6, 5});
  context.SetBatch(1);
  EXPECT_EQ(context.InputShape("x"), (Shape{1, 2, 6, 5}));
  EXPECT_EQ(context.batch(), 1);
  context.SetInputShape("x", {1, 2, 8, 8});
  context.SetBatch(2);
  EXPECT_EQ(context.InputShape("x"), (Shape{2, 2, 8, 8}));
}

TEST_P(ShapesOfInputs, ThatCannotBeLeaveEverythingAsItWas) {
  ExecutionContext context(Convolutions(8, GetParam()));
  context.SetInputShape("x", {2, 2, 5, 5});
  const Floats before = RunOnRamp(&context, "pool");
  const auto error = [&](const Shape& shape) {
    return ErrorOf([&] { context.SetInputShape("x", shape); });
  };
  ExpectContains(error({2, 2, 9, 8}), "does not fit where shape");
  ExpectContains(error({3, 2, 8, 8}), "does not fit where shape");
  // Of the two that read x, whichever the engine runs first.
  ExpectContains(error({2, 3, 5, 5}), "' (Convolution)");
  EXPECT_NE(error({2, 2, 25}), "");
  ExpectContains(error({2, 2, 0, 5}), "input 'x': shape 2 2 0 5");
  ExpectContains(error({2, 2, -5, 5}), "not positive");
  ExpectContains(ErrorOf([&] { context.SetInputShape("y", {1}); }), "no input 'y'; it has 'x'");
  EXPECT_EQ(context.InputShape("x"), (Shape{2, 2, 5, 5}));
  EXPECT_EQ(RunOnRamp(&context, "pool"), before);
}

TEST_P(ShapesOfInputs, SurviveWhateverALayerThrows) {
  ExecutionContext context(PlusOne(GetParam()));
  context.SetInputShape("x", {7});
  EXPECT_THROW(context.SetInputShape("x", {13}), std::out_of_range);
  EXPECT_THROW(context.SetBatch(13), std::out_of_range);
  EXPECT_EQ(context.InputShape("x"), Shape{7});
  EXPECT_EQ(RunOnRamp(&context, "y"), (Floats{1.5, 0, 2.5, -1, 3.5, -2, 4.5}));
}

TEST_P(ShapesOfInputs, OfSeveralInputsChangeAtOnce) {
  NetworkDefinition net("sum");
  net.AddInput("a", {1, 6});
  net.AddInput("b", {1, 6});
  net.AddLayer(ParseLayer("name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum'"));
  net.MarkOutput("sum");
  ExecutionContext context(Built(net, GetParam()));
  EXPECT_NE(ErrorOf([&] { context.SetInputShape("a", {1, 2}); }), "");
  context.SetInputShapes({{"a", {1, 2}}, {"b", {1, 2}}});
  EXPECT_EQ(RunOnRamp(&context, "sum"), (Floats{1, -2}));
}

// Blobs that lie within another one along an axis that changes would begin elsewhere.
TEST_P(ShapesOfInputs, RefuseToMoveTheBeginningsOfJoinedBlobs) {
  NetworkDefinition net("tall");
  net.AddInput("x", {1, 1, 4, 3});
  net.AddLayer(ParseLayer("name: 'a' type: 'Power' bottom: 'x' top: 'a' power_param { power: 2 }"));
  net.AddLayer(ParseLayer("name: 'b' type: 'AbsVal' bottom: 'x' top: 'b'"));
  net.AddLayer(
      ParseLayer("name: 'both' type: 'Concat' bottom: 'a' bottom: 'b' top: 'both' "
                 "concat_param { axis: 2 }"));
  net.AddLayer(ParseLayer("name: 'y' type: 'TanH' bottom: 'both' top: 'y'"));
  net.MarkOutput("y");
  ExecutionContext context(Built(net, GetParam()));
  const Floats before = RunOnRamp(&context, "y");
  ExpectContains(ErrorOf([&] { context.SetInputShape("x", {1, 1, 2, 3}); }), "of shape 1 1 2 3");
  EXPECT_EQ(RunOnRamp(&context, "y"), before);
  context.SetInputShape("x", {1, 1, 4, 2});
  EXPECT_EQ(RunOnRamp(&context, "y").size(), 16u);

  ExecutionContext copies(Built(net, GetParam(), {"views"}));
  copies.SetInputShape("x", {1, 1, 4, 2});
  EXPECT_EQ(RunOnRamp(&context, "y"), RunOnRamp(&copies, "y"));
  EXPECT_NO_THROW(copies.SetInputShape("x", {1, 1, 2, 3}));
}

// ------------------------------------------------------------------ threads

TEST(Contexts, OnManyThreadsGiveTheBitsOfOne) {
  const unsigned seed = TestSeed();
  RandomNet random(seed);
  SCOPED_TRACE(Join("seed ", seed, "\n", random.text()));
  const auto engine = Built(NetworkDefinition(GraphOf(*random.Make())));
  constexpr int kThreads = 4, kRuns = 8;
  // Outputs, one after the other, for an input of this number.
  const auto run = [&](ExecutionContext* context, int number) {
    std::mt19937 noise(seed + number);
    for (const std::string& input : engine->inputs()) {
      const size_t count = CountOf(context->InputShape(input));
      std::generate_n(context->Input(input), count,
                      [&] { return static_cast<float>(noise() % 1000) / 500 - 1; });
    }
    context->Run();
    Floats results;
    for (const std::string& output : engine->outputs()) {
      const float* values = context->Output(output);
      results.insert(results.end(), values, values + CountOf(context->OutputShape(output)));
    }
    return results;
  };
  std::vector<Floats> expected;
  ExecutionContext alone(engine);
  for (int i = 0; i < kThreads * kRuns; ++i) expected.push_back(run(&alone, i));
  std::vector<Floats> actual(expected.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ExecutionContext context(engine);
      for (int i = t; i < kThreads * kRuns; i += kThreads) actual[i] = run(&context, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(expected == actual);
}

// ------------------------------------------------------------------ how an engine describes itself

TEST(Engine, ListsItsLayers) {
  const auto engine = Built(Watched(), Backend::REFERENCE);  // nothing is put in between
  const std::vector<LayerInfo> layers = engine->layers();
  ASSERT_EQ(layers.size(), 3u) << "nothing is left of relu, both and flat";
  EXPECT_EQ(layers[0].name, "conv");
  EXPECT_EQ(layers[0].type, "Convolution");
  EXPECT_EQ(layers[0].also, std::vector<std::string>{"relu"});
  EXPECT_EQ(layers[0].type_of_math, ElementType::FLOAT);
  EXPECT_EQ(layers[0].tops, (std::vector<Shape>{{2, 2, 1, 2}}));
  EXPECT_EQ(layers[0].weight_bytes, 2 * sizeof(float));
  EXPECT_EQ(layers[0].activation_bytes, 8 * sizeof(float));
  EXPECT_EQ(layers[2].weight_bytes, 6 * sizeof(float));
  EXPECT_EQ(engine->weight_bytes(), 8 * sizeof(float));
  // relu, power and their joint lie in the same 12 floats; x and sum.
  EXPECT_GE(engine->activation_bytes(), (12 + 4 + 2) * sizeof(float));
}

TEST(Engine, DescribesItselfAsJson) {
  const auto engine = Built(Watched(), Backend::REFERENCE);  // nothing is put in between
  google::protobuf::Struct root;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(engine->ToJson(), &root).ok());
  const auto& fields = root.fields();
  EXPECT_EQ(fields.at("name").string_value(), "watched");
  EXPECT_EQ(fields.at("max_batch").number_value(), 2);
  EXPECT_EQ(fields.at("tuned_threads").number_value(), 0);
  EXPECT_EQ(fields.at("weight_bytes").number_value(), engine->weight_bytes());
  const auto& input = fields.at("inputs").list_value().values(0).struct_value().fields();
  EXPECT_EQ(input.at("name").string_value(), "x");
  EXPECT_EQ(input.at("shape").list_value().values(3).number_value(), 2);
  const auto& outputs = fields.at("outputs").list_value();
  EXPECT_EQ(outputs.values(0).struct_value().fields().at("name").string_value(), "sum");
  const auto& layers = fields.at("layers").list_value();
  ASSERT_EQ(layers.values_size(), 3);
  const auto& conv = layers.values(0).struct_value().fields();
  EXPECT_EQ(conv.at("name").string_value(), "conv");
  EXPECT_EQ(conv.at("precision").string_value(), "FLOAT");
  EXPECT_EQ(conv.at("fused").list_value().values(0).string_value(), "relu");
  const auto& top = conv.at("tops").list_value().values(0).list_value();
  EXPECT_EQ(top.values(1).number_value(), 2);
}

TEST(Engine, DescribesItsLayersAsJson) {
  const auto engine = Built(Watched(), Backend::REFERENCE);
  const auto parsed = [&](bool details) {
    google::protobuf::Struct root;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(engine->LayersToJson(details), &root).ok());
    return root;
  };
  const google::protobuf::Struct names = parsed(false), details = parsed(true);
  for (const google::protobuf::Struct* root : {&names, &details}) {
    const auto& bindings = root->fields().at("Bindings").list_value();
    EXPECT_EQ(bindings.values(0).string_value(), "x");
    EXPECT_EQ(bindings.values(1).string_value(), "sum");
    ASSERT_EQ(root->fields().at("Layers").list_value().values_size(), 3);
  }
  EXPECT_EQ(names.fields().at("Layers").list_value().values(0).string_value(), "conv");
  const auto& conv = details.fields().at("Layers").list_value().values(0).struct_value().fields();
  EXPECT_EQ(conv.at("Name").string_value(), "conv");
  EXPECT_EQ(conv.at("LayerType").string_value(), "Convolution");
  EXPECT_EQ(conv.at("Precision").string_value(), "FLOAT");
  EXPECT_EQ(conv.at("TacticName").string_value(), "layer");
  EXPECT_EQ(conv.at("FusedLayers").list_value().values(0).string_value(), "relu");
  EXPECT_EQ(conv.at("WeightBytes").number_value(), 2 * sizeof(float));
  EXPECT_EQ(conv.at("BuildTimeUs").number_value(), 0);
  const auto& input = conv.at("Inputs").list_value().values(0).struct_value().fields();
  EXPECT_EQ(input.at("Name").string_value(), "x");
  EXPECT_EQ(input.at("Format/Datatype").string_value(), "row major FLOAT");
  const auto& output = conv.at("Outputs").list_value().values(0).struct_value().fields();
  EXPECT_EQ(output.at("Dimensions").list_value().values(3).number_value(), 2);
}

}  // namespace
}  // namespace caffe::inference
