// Builder, Engine, ExecutionContext and the plan file.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "caffe/device.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/plan_file.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/damaged_plans.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/out_of_memory_layer.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

/// Twice the bottom plus a parameter: a layer that the optimizer does not know.
class TwicePlusLayer : public Layer<float> {
 public:
  explicit TwicePlusLayer(const LayerParameter& param) : Layer<float>(param) {}
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {
    if (!blobs_.empty()) return;
    blobs_.emplace_back(new Blob<float>(vector<int>{1}));
    blobs_[0]->mutable_cpu_data()[0] = 100;
  }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "TwicePlus"; }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = 2 * bottom[0]->cpu_data()[i] + blobs_[0]->cpu_data()[0];
    }
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};

/// The bottom plus the number of passes so far, which it keeps in its parameter.
class CountingLayer : public TwicePlusLayer {
 public:
  using TwicePlusLayer::TwicePlusLayer;
  const char* type() const override { return "Counting"; }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    const float passes = blobs_[0]->mutable_cpu_data()[0] += 1;
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = bottom[0]->cpu_data()[i] + passes;
    }
  }
};

template <typename CustomLayer>
boost::shared_ptr<Layer<float>> Make(const LayerParameter& param) {
  return boost::shared_ptr<Layer<float>>(new CustomLayer(param));
}

void RegisterCustomLayers() {
  static const bool registered = [] {
    LayerRegistry<float>::AddCreator("TwicePlus", Make<TwicePlusLayer>);
    LayerRegistry<float>::AddCreator("Counting", Make<CountingLayer>);
    return true;
  }();
  (void)registered;
}

/// y = relu(W x) for x of 2 and y of 3.
NetworkDefinition NetOfThree() {
  NetworkDefinition net("small");
  net.AddInput("x", {4, 2});
  net.AddLayer(ParseLayer("name: 'fc' type: 'InnerProduct' bottom: 'x' top: 'y' "
                          "inner_product_param { num_output: 3 bias_term: false }"),
               {Constant::Of({3, 2}, {1, 0, 0, 1, 1, -1})});
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'y' top: 'y'"));
  net.MarkOutput("y");
  return net;
}

std::vector<float> RunOnce(ExecutionContext* context, const std::vector<float>& x) {
  std::copy(x.begin(), x.end(), context->Input("x"));
  context->Run();
  const float* y = context->Output("y");
  return {y, y + CountOf(context->OutputShape("y"))};
}

TEST(Engine, NamesTheLayerThatMemoryIsRefusedTo) {
  OutOfMemoryLayer::Register();
  for (const Backend backend : {Backend::CPU, Backend::REFERENCE}) {
    for (const std::string step : {"setup", "reshape", "forward", "elements"}) {
      const std::string message = ErrorOf([&] {
        NetworkDefinition net("out_of_memory");
        net.AddInput("data", {1, 2});
        LayerParameter layer;
        layer.set_name(step);
        layer.set_type("OutOfMemory");
        layer.add_bottom("data");
        layer.add_top("top");
        net.AddLayer(layer);
        net.MarkOutput("top");
        BuilderConfig config;
        config.backend = backend;
        ExecutionContext context(Builder(config).Build(net));
        context.Run();
      });
      ExpectContains(message, "layer '" + step + "' (OutOfMemory)");
      ExpectContains(message, ": out of memory");
    }
  }
}

TEST(Engine, RunsByNames) {
  const auto engine = Builder().Build(NetOfThree());
  EXPECT_EQ(engine->inputs(), std::vector<std::string>{"x"});
  EXPECT_EQ(engine->outputs(), std::vector<std::string>{"y"});
  EXPECT_EQ(engine->graph()->nodes.size(), 1u) << "ReLU is part of the inner product";
  ExecutionContext context(engine);
  context.SetBatch(1);
  EXPECT_EQ(RunOnce(&context, {5, 7}), (Floats{5, 7, 0}));
  EXPECT_EQ(context.InputShape("x"), (Shape{1, 2}));
  ExpectContains(ErrorOf([&] { context.Input("z"); }),
                 "engine 'small' has no input 'z'; it has 'x'");
  ExpectContains(ErrorOf([&] { context.Output("x"); }), "no output 'x'; it has 'y'");
}

TEST(Engine, RunsAnyBatchUpToTheLargest) {
  BuilderConfig config;
  config.max_batch = 3;
  const auto engine = Builder(config).Build(NetOfThree());
  EXPECT_EQ(engine->max_batch(), 3);
  ExecutionContext context(engine);
  EXPECT_EQ(context.batch(), 3);
  EXPECT_EQ(RunOnce(&context, {1, 2, 3, 1, 0, 0}), (Floats{1, 2, 0, 3, 1, 2, 0, 0, 0}));
  context.SetBatch(1);
  EXPECT_EQ(RunOnce(&context, {3, 1}), (Floats{3, 1, 2}));
  context.SetBatch(2);
  EXPECT_EQ(RunOnce(&context, {1, 2, 3, 1}), (Floats{1, 2, 0, 3, 1, 2}));
  for (const int batch : {0, -1, 4}) {
    ExpectContains(ErrorOf([&] { context.SetBatch(batch); }), "is built for 1 to 3");
  }
}

// Channels that do not fill a block are no view of others.
TEST(Engine, ReshapesPartsOfBlocksToTheirOwnShape) {
  for (const char* same :
       {"type: 'Flatten' flatten_param { axis: 1 end_axis: 1 }",
        "type: 'Reshape' reshape_param { shape { dim: 0 dim: 10 dim: -1 dim: 7 } }"}) {
    const NetParameter param = ParseNet(
        std::string("layer { name: 'x' type: 'Input' top: 'x' "
                    "  input_param { shape { dim: 1 dim: 3 dim: 9 dim: 9 } } } "
                    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param "
                    "  { num_output: 10 kernel_size: 3 weight_filler { type: 'gaussian' } } } "
                    "layer { name: 'f' bottom: 'c' top: 'f' ") +
        same +
        " } layer { name: 'd' type: 'Convolution' bottom: 'f' top: 'd' convolution_param "
        "  { num_output: 4 kernel_size: 3 weight_filler { type: 'gaussian' } } } ");
    Net<float> net(param);
    NetParameter trained;
    net.ToProto(&trained);
    for (const Precision precision : {Precision::FP32, Precision::FP16, Precision::BF16}) {
      BuilderConfig config;
      config.precision = precision;
      config.timing_iterations = 0;
      ExecutionContext context(Builder(config).Build(NetworkDefinition::FromCaffe(trained, {})));
      Blob<float>& x = *net.input_blobs()[0];
      for (int i = 0; i < x.count(); ++i) {
        x.mutable_cpu_data()[i] = context.Input("x")[i] = std::sin(0.1f * i);
      }
      context.Run();
      const Blob<float>& y = *net.Forward()[0];
      for (int i = 0; i < y.count(); ++i) {
        EXPECT_NEAR(context.Output("d")[i], y.cpu_data()[i],
                    precision == Precision::FP32 ? 1e-3 : 2);
      }
    }
  }
}

TEST(Engine, OfNoImagesGivesNothing) {
  const NetParameter net = ParseNet(
      "input: 'x' input_shape { dim: 0 dim: 3 dim: 6 dim: 6 } "
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' "
      "  convolution_param { num_output: 32 kernel_size: 3 } }");
  for (const Precision precision : {Precision::FP32, Precision::FP16, Precision::BF16}) {
    BuilderConfig config;
    config.precision = precision;
    ExecutionContext context(Builder(config).Build(NetworkDefinition::FromCaffe(net, {})));
    context.Run();
    EXPECT_EQ(context.OutputShape("y"), (Shape{0, 32, 4, 4}));
  }
}

TEST(Engine, KeepsInputsFromRunToRun) {
  const auto engine = Builder().Build(NetOfThree());
  ExecutionContext context(engine);
  const Floats first = RunOnce(&context, {1, 2, 3, 1, 0, 0, 1, 1});
  context.Run();
  EXPECT_EQ(Floats(context.Output("y"), context.Output("y") + 12), first);
}

TEST(Engine, ServesManyThreads) {
  const auto engine = Builder().Build(NetOfThree());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ExecutionContext context(engine);
      context.SetBatch(1);
      for (int i = 0; i < 50; ++i) {
        const float a = static_cast<float>(t + i);
        wrong[t] += RunOnce(&context, {a, 1}) != Floats{a, 1, std::max(0.f, a - 1)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Engine, RunsCustomLayersWithTheirParameters) {
  RegisterCustomLayers();
  NetworkDefinition net("custom");
  net.AddInput("x", {1, 2});
  net.AddLayer(ParseLayer("name: 'own' type: 'TwicePlus' bottom: 'x' top: 'own'"),
               {Constant::Of({1}, {10})});
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'own' top: 'y'"));
  net.MarkOutput("y");
  const std::string file = NewFileName();
  Builder().Build(net)->Save(file);
  ExecutionContext context(Engine::Load(file));
  EXPECT_EQ(RunOnce(&context, {1, -8}), (Floats{12, 0}));
}

// A layer whose top's shape is known only when it has run.
// What a plan holds is mapped for reading and belongs to all contexts.
TEST(Engine, LetsNoLayerWriteItsParameters) {
  RegisterCustomLayers();
  NetworkDefinition net("writers");
  net.AddInput("x", {1, 1, 1, 2});
  net.AddLayer(ParseLayer("name: 'counting' type: 'Counting' bottom: 'x' top: 'counted'"),
               {Constant::Of({1}, {10})});
  net.AddLayer(ParseLayer("name: 'norm' type: 'BatchNorm' bottom: 'x' top: 'normalized' "
                          "batch_norm_param { use_global_stats: false eps: 0 }"),
               {Constant::Of({1}, {5}), Constant::Of({1}, {4}), Constant::Of({1}, {1})});
  net.MarkOutput("counted");
  net.MarkOutput("normalized");
  const std::string file = NewFileName();
  Builder().Build(net)->Save(file);
  const std::string stored = ReadFile(file);
  const auto engine = Engine::Load(file);
  for (int context_number = 0; context_number < 2; ++context_number) {
    ExecutionContext context(engine);
    for (int pass = 1; pass <= 2; ++pass) {
      std::copy_n(Floats{1, 3}.data(), 2, context.Input("x"));
      context.Run();
      const float* counted = context.Output("counted");
      EXPECT_EQ(Floats(counted, counted + 2), (Floats{11.f + pass, 13.f + pass}));
      const float* normalized = context.Output("normalized");
      EXPECT_EQ(Floats(normalized, normalized + 2), (Floats{-1, 1}));
    }
  }
  EXPECT_EQ(ReadFile(file), stored);
}

TEST(Engine, FollowsShapesThatDependOnTheData) {
  NetworkDefinition net("filter");
  net.AddInput("x", {3, 2});
  net.AddInput("which", {3});
  net.AddLayer(ParseLayer("name: 'filter' type: 'Filter' bottom: 'x' bottom: 'which' top: 'kept'"));
  net.AddLayer(ParseLayer("name: 'fc' type: 'InnerProduct' bottom: 'kept' top: 'fc' "
                          "inner_product_param { num_output: 1 bias_term: false }"),
               {Constant::Of({1, 2}, {1, 1})});
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'fc' top: 'y'"));
  net.MarkOutput("y");
  BuilderConfig config;
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  config.layer_precisions["fc"] =
      Precision::FP16;  // kernels that know shapes compute in FLOAT alone
  ExecutionContext context(Builder(config).Build(net));
  ASSERT_EQ(remarks.size(), 1u);
  ExpectContains(remarks[0], "layer 'fc' (InnerProduct) cannot be computed in");
  for (const auto& which : {Floats{1, 0, 1}, Floats{0, 1, 0}, Floats{1, 1, 1}}) {
    std::copy(which.begin(), which.end(), context.Input("which"));
    Floats expected;
    for (int i = 0; i < 3; ++i) {
      if (which[i] != 0) expected.push_back(static_cast<float>(4 * i + 3));
    }
    EXPECT_EQ(RunOnce(&context, {1, 2, 3, 4, 5, 6}), expected);
  }
}

TEST(Builder, RefusesBadConfigurations) {
  BuilderConfig config;
  config.max_batch = -1;
  ExpectContains(ErrorOf([&] { Builder(config).Build(NetOfThree()); }), "max_batch");
  config.max_batch = 4;
  config.max_input_shapes["x"] = {2, 2};
  ExpectContains(ErrorOf([&] { Builder(config).Build(NetOfThree()); }),
                 "a batch of 2 where max_batch is 4: leave one of them out");
  config = BuilderConfig();
  config.skip_passes = {"activation"};
  ExpectContains(ErrorOf([&] { Builder(config).Build(NetOfThree()); }),
                 "there is no pass 'activation'");
}

// Layers without weights lose accuracy, too.
TEST(Builder, WidensAllLayersWhereLessIsNotAccurateEnough) {
  NetworkDefinition net = NetOfThree();
  net.AddLayer(ParseLayer("name: 'exp' type: 'Exp' bottom: 'y' top: 'z'"));
  net.MarkOutput("z");
  std::vector<std::string> remarks;
  BuilderConfig config;
  config.precision = Precision::BEST;
  config.allowed = {Precision::FP16};
  config.timing_iterations = 0;
  config.max_accuracy_loss = 0.5;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  int judged = 0;
  const auto is_float = [](const LayerInfo& layer) {
    return layer.type_of_math == ElementType::FLOAT;
  };
  // Refuses all engines but the last, however they compute.
  config.accuracy_loss = [&](const std::shared_ptr<const Engine>&) {
    ++judged;
    return 1.;
  };
  Builder(config).Build(net);
  const int last = judged;
  judged = 0;
  config.accuracy_loss = [&](const std::shared_ptr<const Engine>&) {
    return ++judged == last ? 0.5 : 1;
  };
  ASSERT_EQ(remarks.size(), 1u);
  ExpectContains(remarks[0], "as was asked for, 0.5: in FP32");
  ExpectContains(remarks[0], "it is 1");
  remarks.clear();
  const auto layers = Builder(config).Build(net)->layers();
  EXPECT_EQ(judged, last);
  EXPECT_TRUE(std::all_of(layers.begin(), layers.end(), is_float));
  EXPECT_EQ(remarks, std::vector<std::string>());
  // What is no number is no small loss.
  config.accuracy_loss = [](const std::shared_ptr<const Engine>&) { return std::nan(""); };
  Builder(config).Build(net);
  ASSERT_EQ(remarks.size(), 1u);
  ExpectContains(remarks[0], "it is nan");
}

// Every layer with parameters is held against the shapes that follow from those asked for.
TEST(Builder, RefusesInputShapesThatWeightsDoNotFit) {
  const std::vector<std::string> layers = {
      "type: 'InnerProduct' inner_product_param { num_output: 3 }",
      "type: 'InnerProduct' inner_product_param { num_output: 3 transpose: true }",
      "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 1 }",
      "type: 'Deconvolution' convolution_param { num_output: 3 kernel_size: 1 }",
      "type: 'BatchNorm'",
      "type: 'BN'",
      "type: 'Bias'",
      "type: 'Scale' scale_param { bias_term: true }",
      "type: 'Normalize' norm_param { channel_shared: false }",
      "type: 'PReLU'"};
  for (const std::string& layer : layers) {
    const NetParameter param = ParseNet(
        "input: 'x' input_shape { dim: 1 dim: 2 dim: 4 dim: 4 } "
        "layer { name: 'weighted' bottom: 'x' top: 'y' " +
        layer + " }");
    BuilderConfig config;
    config.max_input_shapes["x"] = {1, 3, 5, 5};
    const auto net = NetworkDefinition::FromCaffe(param, {});
    const std::string error = ErrorOf([&] { Builder(config).Build(net); });
    ExpectContains(error, "layer 'weighted'");
    ExpectContains(error, "parameter blob 0 has shape");
  }
}

// In a wrong file nothing fits; in that of a net that was changed since, some parameters may.
TEST(Definition, SaysWhichLayersHaveNoWeights) {
  const std::string file = NewFileName(), wrong = NewFileName();
  const auto net = [](const std::string& second) {
    return ParseNet(
        "name: 'two' input: 'x' input_shape { dim: 1 dim: 2 } "
        "layer { name: 'first' type: 'InnerProduct' bottom: 'x' top: 'y' "
        "  inner_product_param { num_output: 2 } } "
        "layer { name: '" +
        second +
        "' type: 'InnerProduct' bottom: 'y' top: 'z' "
        "  inner_product_param { num_output: 2 } }");
  };
  Net<float>(net("second")).ToBinaryProto(file);
  NetParameter other = net("other");
  other.mutable_layer(0)->set_name("another");
  Net<float>(other).ToBinaryProto(wrong);

  CapturedLog log;
  NetworkDefinition::FromCaffe(net("second"), {file});
  EXPECT_FALSE(log.HasPrefix("1 of 2 layers"));
  NetworkDefinition::FromCaffe(net("new"), {file});
  EXPECT_TRUE(log.Has("1 of 2 layers with parameters have no weights in " + file +
                      " and keep what their fillers made: 'new'"));
  NetworkDefinition::FromCaffe(net("other"), {file, wrong});
  EXPECT_FALSE(log.HasPrefix("0 of 2 layers"));
  const std::string error = ErrorOf([&] { NetworkDefinition::FromCaffe(net("new"), {wrong}); });
  ExpectContains(error, wrong + ": no layer of the net 'two' has weights there");
  ExpectContains(error, "'first', 'new'");
}

/// y = W x + b for pixels x of 2 channels.
NetworkDefinition NetOfPixels() {
  NetworkDefinition net("pixels");
  net.AddInput("x", {1, 2, 2, 2});
  net.AddLayer(ParseLayer("name: 'conv' type: 'Convolution' bottom: 'x' top: 'y' "
                          "convolution_param { num_output: 2 kernel_size: 1 }"),
               {Constant::Of({2, 2, 1, 1}, {1, 0.5, -1, 2}), Constant::Of({2}, {0.5, 0})});
  net.MarkOutput("y");
  return net;
}

BlobCalibration CalibratedRange(double least, double most) {
  return {std::max(std::fabs(least), std::fabs(most)), least >= 0, least, most, "minmax"};
}

const std::vector<float> kPixels = {0, 255, 30, 100, 7, 200, 255, 1};

std::vector<float> RunInInt8(const NetworkDefinition& net, const CalibrationTable& table,
                             const std::vector<float>& x) {
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.timing_iterations = 0;
  config.calibration = std::make_shared<const CalibrationTable>(table);
  ExecutionContext context(Builder(config).Build(net));
  return RunOnce(&context, x);
}

// (x - mean) / 100: a table that was made of the net that gets x so holds for the one that gets
// pixels.
TEST(Builder, TakesTablesOfNetsWhoseInputWasNormalizedBefore) {
  CalibrationTable table;
  table.Set("x", CalibratedRange(-1, 2.05));
  table.Set("y", CalibratedRange(-3, 4));
  std::vector<float> normalized;
  for (size_t i = 0; i < kPixels.size(); ++i) {
    normalized.push_back((kPixels[i] - (i < 4 ? 100 : 50)) / 100);
  }
  const std::vector<float> expected = RunInInt8(NetOfPixels(), table, normalized);
  NetworkDefinition net = NetOfPixels();
  net.NormalizeInput("x", {100, 50}, 0.01f);
  const auto expect_near = [&](const std::vector<float>& actual, double bound) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], bound) << i;
  };
  // Its range follows from both means: -50 to 255.
  expect_near(RunInInt8(net, table, kPixels), 0.05);
  net.SetRange("x", 0, 255);
  expect_near(RunInInt8(net, table, kPixels), 0.03);

  // A table of the net itself has both.
  table.Set("x", CalibratedRange(0, 255));
  table.Set("x_normalized", CalibratedRange(-1, 2.05));
  NetworkDefinition other = NetOfPixels();
  other.NormalizeInput("x", {100, 50}, 0.01f);
  expect_near(RunInInt8(other, table, kPixels), 0.03);
}

// A setting of 'a' does not apply to 'a+b'.
TEST(Builder, TellsLayersApartWhoseNamesLookLikeJoinedOnes) {
  NetworkDefinition net("plus");
  net.AddInput("x", {1, 2});
  for (const char* name : {"a", "a+b"}) {
    net.AddLayer(ParseLayer(Join("name: '", name, "' type: 'InnerProduct' bottom: 'x' top: '", name,
                                 "' inner_product_param { num_output: 3 bias_term: false }")),
                 {Constant::Of({3, 2}, {1, 0, 0, 1, 1, -1})});
    net.MarkOutput(name);
  }
  BuilderConfig config;
  config.timing_iterations = 0;
  config.layer_precisions = {{"a", Precision::FP16}};
  const auto engine = Builder(config).Build(net);
  std::map<std::string, ElementType> types;
  for (const LayerInfo& layer : engine->layers()) types[layer.name] = layer.type_of_math;
  EXPECT_EQ(types.at("a"), ElementType::FLOAT16);
  EXPECT_EQ(types.at("a+b"), ElementType::FLOAT);
}

class PlanOfAnEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    built_->Save(file_);
    bytes_ = ReadFile(file_);
  }
  std::string LoadError(const std::string& bytes) {
    return ErrorOf([&] { Engine::Load(NewFile(bytes)); });
  }

  const std::shared_ptr<const Engine> built_ = Builder().Build(NetOfThree());
  const std::string file_ = NewFileName();
  std::string bytes_;
};

TEST_F(PlanOfAnEngine, IsTheEngine) {
  const auto engine = Engine::Load(file_);
  EXPECT_EQ(ToText(*engine->graph()), ToText(*built_->graph()));
  const void* weights = engine->graph()->nodes[0].parameters[0].data.get();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights) % 64, 0u);
  ExecutionContext context(engine);
  context.SetBatch(1);
  EXPECT_EQ(RunOnce(&context, {3, 1}), (Floats{3, 1, 2}));
}

TEST_F(PlanOfAnEngine, IsWrittenTheSameFromWhatWasRead) {
  const std::string again = NewFileName();
  Engine::Load(file_)->Save(again);
  EXPECT_EQ(ReadFile(again), bytes_);
}

// Weights are packed in another order for each of them.
TEST_F(PlanOfAnEngine, IsForOneInstructionSet) {
  const kernels::InstructionSet before = kernels::CpuInstructionSet();
  const auto in_brackets = [](kernels::InstructionSet set) {
    return Join("(", kernels::Name(set), set.has_tiles() ? " on " : ")");
  };
  for (const kernels::InstructionSet set : kernels::TestedInstructionSets()) {
    SCOPED_TRACE(kernels::Name(set));
    kernels::SetCpuInstructionSet(set);
    const std::string file = NewFileName();
    Builder().Build(NetOfThree())->Save(file);
    for (const kernels::InstructionSet other : kernels::TestedInstructionSets()) {
      kernels::SetCpuInstructionSet(other);
      if (other == set) {
        EXPECT_TRUE(Engine::Load(file));
        continue;
      }
      const std::string error = ErrorOf([&] { Engine::Load(file); });
      ExpectContains(error, in_brackets(set));
      ExpectContains(error, in_brackets(other));
      ExpectContains(error, "build it again");
    }
  }
  kernels::SetCpuInstructionSet(before);
}

TEST_F(PlanOfAnEngine, RefusesOtherFiles) {
  ExpectContains(ErrorOf([] { Engine::Load("/no/such/plan"); }), "/no/such/plan");
  ExpectContains(LoadError("layer { }"), "it is no plan");
  ExpectContains(LoadError("CORTPLAN"), "it is truncated");
  for (size_t size : {bytes_.size() - 1, bytes_.size() / 2, size_t(65), size_t(64)}) {
    ExpectContains(LoadError(bytes_.substr(0, size)), "it is truncated");
  }
  std::string other = bytes_;
  other[8] = 99;
  ExpectContains(LoadError(other), "it is a plan of version 99, this library reads version ");
  other = bytes_;
  other[other.find("Cortado")] = 'c';
  ExpectContains(LoadError(Signed(other)), "it was built for cortado");
  EXPECT_EQ(LoadError(other).find('\n'), std::string::npos) << "one line";
  if (Device::available()) return;
  other = bytes_;
  other.replace(other.find("Cortado"), 5, "GPU: ");
  ExpectContains(LoadError(Signed(other)), "it was built for GPU: ");
  ExpectContains(LoadError(Signed(other)), "no GPU can be used: ");
  EXPECT_EQ(LoadError(Signed(other)).find('\n'), std::string::npos) << "one line";
}

TEST_F(PlanOfAnEngine, NoticesEveryWrongByte) {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (i >= 40 && i < 64) continue;  // unused
    std::string damaged = bytes_;
    damaged[i] ^= 1 << (i % 8);
    EXPECT_NE(LoadError(damaged), "") << "byte " << i;
  }
}

// Damage with a right checksum is an Error or a valid engine, never a crash.
TEST_F(PlanOfAnEngine, SurvivesDamageThatIsSigned) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes_;
    for (int changes = 1 + random() % 3; changes > 0; --changes) {
      damaged[24 + random() % (damaged.size() - 24)] = static_cast<char>(random());
    }
    ExpectErrorOrEngine(NewFile(Signed(damaged)));
  }
}

size_t MemoryOf(const Engine& engine) { return engine.weight_bytes() + engine.activation_bytes(); }

/// What Builder says where max_memory does not suffice.
std::string MemoryError(const BuilderConfig& config, const NetworkDefinition& net) {
  try {
    Builder(config).Build(net);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Winograd's algorithm, which is the fastest one by the guess, needs scratch memory and larger
// weights.
TEST(MaxMemory, AnEngineWithLessScratchMemoryIsBuilt) {
  Net<float> net(ParseNet(R"(state { phase: TEST }
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 32 dim: 28 dim: 28 } } }
    layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
            convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "conv2" type: "Convolution" bottom: "conv" top: "y"
            convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } })"));
  const NetworkDefinition definition(GraphOf(net));
  BuilderConfig config;
  config.timing_iterations = 0;
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  const size_t fastest = MemoryOf(*Builder(config).Build(definition));
  config.max_workspace = 1;
  const size_t least = MemoryOf(*Builder(config).Build(definition));
  ASSERT_LT(least, fastest);
  EXPECT_TRUE(remarks.empty());
  config.max_workspace = 0;
  for (const size_t most : {fastest - 1, least}) {
    remarks.clear();
    config.max_memory = most;
    EXPECT_LE(MemoryOf(*Builder(config).Build(definition)), most);
    ASSERT_FALSE(remarks.empty());
    ExpectContains(remarks[0], "max_memory: an engine needs ");
    ExpectContains(remarks[0],
                   Join(" bytes, and may take ", most, ": it is built again with at most "));
  }
  config.max_memory = least - 1;
  const std::string error = MemoryError(config, definition);
  ExpectContains(error, "max_memory: the engine needs");
  ExpectContains(error, Join("and may take ", least - 1));
}

}  // namespace
}  // namespace caffe::inference
