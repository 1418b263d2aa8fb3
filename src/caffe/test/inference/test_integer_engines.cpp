// Engines of integers alone: the same bits whatever computes them, near what floats compute, and
// clear messages about layers without an integer form.
#include <gtest/gtest.h>

#include <cmath>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/quantize/blob_intervals.hpp"
#include "caffe/inference/quantize/fused_sums.hpp"
#include "caffe/inference/quantize/training_ranges.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/integer_nets.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

class RandomNetsInIntegers : public ::testing::TestWithParam<Way> {};

TEST_P(RandomNetsInIntegers, HaveTheSameBitsWhateverComputesThemAndAreNearFloats) {
  const Way& way = GetParam();
  for (const unsigned seed : Seeds(20)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    Graph graph = GraphOf(*net);
    ReduceSomeRanges(seed, &graph);
    const Graph integers = InIntegers(graph, RangesOfBlobs(*net), way.scheme, way.rounding);
    SCOPED_TRACE(ToText(integers));
    DefinitionsFirst definitions(cpu::CpuTarget());
    RandomTiming whatever(cpu::CpuTarget(), seed);
    // Layers without an integer form are rounded as by the kernel for floats, then to a byte.
    const double exact = AllInIntegers(integers) ? 0 : 0.05;
    const NamedValues defined = RunGraph(LoweredIntegers(integers, &definitions), InputsOf(*net));
    const Graph fused = FuseIntegerResiduals(integers);
    ExpectSame(OutputsOf(*net), defined, way.bound, 1);
    const kernels::InstructionSet before = kernels::CpuInstructionSet();
    for (const kernels::InstructionSet set : kernels::TestedInstructionSets()) {
      SCOPED_TRACE(Name(set));
      kernels::SetCpuInstructionSet(set);
      ExpectSame(defined, RunGraph(LoweredIntegers(fused, &whatever), InputsOf(*net)), exact, 1);
    }
    kernels::SetCpuInstructionSet(before);
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, RandomNetsInIntegers, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return info.param.name; });

Graph IntegersOf(const Net<float>& net) {
  return InIntegers(GraphOf(net), RangesOfBlobs(net), QuantizationScheme::AFFINE,
                    kernels::Rounding::DOUBLE);
}

TEST(IntegersOfDropout, ScaleWhatWasNotScaledInTraining) {
  const auto net_of = [](const std::string& dropout) {
    auto net = std::make_unique<Net<float>>(
        ParseNet("state { phase: TEST } layer { name: 'data' type: 'Input' top: 'data' "
                 "input_param { shape { dim: 1 dim: 3 dim: 5 dim: 5 } } } "
                 "layer { name: 'drop' type: 'Dropout' bottom: 'data' top: 'out' dropout_param { " +
                 dropout + " } }"));
    FillWithSines(net->input_blobs()[0]);
    net->Forward();
    return net;
  };
  const auto net = net_of("dropout_ratio: 0.4 scale_train: false");
  const Graph graph = IntegersOf(*net);
  EXPECT_TRUE(AllInIntegers(graph));
  DefinitionsFirst definitions(cpu::CpuTarget());
  ExpectSame(OutputsOf(*net), RunGraph(LoweredIntegers(graph, &definitions), InputsOf(*net)), 0.02,
             1);
  EXPECT_FALSE(AllInIntegers(IntegersOf(*net_of("sample_weights_test: true"))))
      << "it drops numbers by chance";
}

// Sums of integers with zero points, rescaled in floats.
TEST(AffineIntegersRescaledInFloats, AreNearFloatsOnEveryInstructionSet) {
  for (const unsigned seed : Seeds(20)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const CalibrationTable table = RangesOfBlobs(*net);
    const kernels::InstructionSet before = kernels::CpuInstructionSet();
    for (const kernels::InstructionSet set : kernels::TestedInstructionSets()) {
      SCOPED_TRACE(Name(set));
      kernels::SetCpuInstructionSet(set);
      const Graph graph = Lowered(cpu::CpuTarget(), GraphOf(*net), {ElementType::INT8}, seed,
                                  &table, QuantizationScheme::AFFINE);
      SCOPED_TRACE(ToText(graph));
      ExpectSame(OutputsOf(*net), RunGraph(graph, InputsOf(*net)), 0.3, 1);
    }
    kernels::SetCpuInstructionSet(before);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RangeOfBlobs, HasAnExactZero) {
  const Range range = RangeOf({-1, 3}, QuantizationScheme::AFFINE);
  EXPECT_FLOAT_EQ(range.scale, 4.f / 255);
  EXPECT_EQ(range.zero_point, 64);  // 63.75
  EXPECT_TRUE(range.is_unsigned);
  EXPECT_EQ(RangeOf({0, 6}, QuantizationScheme::AFFINE).zero_point, 0);
  EXPECT_EQ(RangeOf({-6, 0}, QuantizationScheme::PAPER).zero_point, 255);
}

TEST(RangeOfBlobs, IsSymmetricWithoutAZeroPoint) {
  const Range range = RangeOf({-1, 3}, QuantizationScheme::SYMMETRIC);
  EXPECT_FLOAT_EQ(range.scale, 3.f / 127);
  EXPECT_EQ(range.zero_point, 0);
  EXPECT_FALSE(range.is_unsigned);
  EXPECT_FLOAT_EQ(RangeOf({0, 3}, QuantizationScheme::SYMMETRIC).scale, 3.f / 255);
}

TEST(IntervalOfBlob, IncludesZeroAndEndsWhereValuesSaturate) {
  BlobCalibration range = Seen(0.5, 3);
  range.threshold = 2;
  const Interval interval = IntervalOf("blob", range);
  EXPECT_EQ(interval.least, 0);
  EXPECT_EQ(interval.most, 2);
}

TEST(IntervalOfBlob, RefusesWhatIsNoRange) {
  const double nan = std::nan("");
  BlobCalibration range = Seen(-1, 1);
  range.maximum = nan;
  ExpectContains(ErrorOf([&] { IntervalOf("conv1", range); }), "'conv1'");
  ExpectContains(ErrorOf([&] { IntervalOf("conv1", range); }), "is no range");
  range = Seen(-1, 1);
  range.threshold = nan;
  ExpectContains(ErrorOf([&] { IntervalOf("conv1", range); }), "'conv1'");
  ExpectContains(ErrorOf([&] { IntervalOf("conv1", range); }), "is no range");
}

constexpr char kConvolution[] = R"(
  name: 'one'
  layer { name: 'data' type: 'Input' top: 'data'
          input_param { shape { dim: 1 dim: 1 dim: 1 dim: 3 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
          convolution_param { num_output: 2 kernel_size: 1 } }
  layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
)";

/// A convolution with ReLU, weights 0.5 and -1, biases 0.25 and 0.
NetworkDefinition OneConvolution() {
  NetworkDefinition net("one");
  net.AddInput("data", {1, 1, 1, 3});
  const NetParameter param = ParseNet(kConvolution);
  net.AddLayer(param.layer(1),
               {Constant::Of({2, 1, 1, 1}, {0.5f, -1.f}), Constant::Of({2}, {0.25f, 0.f})});
  net.AddLayer(param.layer(2));
  net.MarkOutput("conv");
  return net;
}

BuilderConfig IntegerConfig(QuantizationScheme scheme) {
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.timing_iterations = 0;
  config.quantization.scheme = scheme;
  config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
  return config;
}

// S1 = 4 / 255 and Z1 = 64, S2 = 0.5 / 127 and 1 / 127, S3 = 2 / 255 and Z3 = 0.
TEST(QuantizedGraph, HasThePapersNumbers) {
  NetworkDefinition net = OneConvolution();
  net.SetRange("data", -1, 3);
  net.SetRange("conv", 0, 2);
  const Graph graph = QuantizedGraph(net, IntegerConfig(QuantizationScheme::AFFINE));
  const Value& data = graph.values[graph.FindValue("data")];
  EXPECT_EQ(data.type, ElementType::UINT8);
  EXPECT_EQ(data.affine.zero_point, 64);
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& node = graph.nodes[0];
  ASSERT_TRUE(node.integers.has_value());
  ASSERT_EQ(node.parameters.size(), 5u);
  const auto ints = [&](int i) {
    return static_cast<const int32_t*>(node.parameters[i].data.get());
  };
  const int8_t* weights = static_cast<const int8_t*>(node.parameters[0].data.get());
  EXPECT_EQ(weights[0], 127);
  EXPECT_EQ(weights[1], -127);
  EXPECT_EQ(ints(1)[0], std::lround(0.25 / (4. / 255 * 0.5 / 127)));  // 4048
  EXPECT_EQ(ints(1)[1], 0);
  for (const int o : {0, 1}) {
    const kernels::Multiplier multiplier = {ints(2)[o], ints(3)[o]};
    const double real = 4. / 255 * (o == 0 ? 0.5 : 1) / 127 / (2. / 255);
    EXPECT_NEAR(RealOf(multiplier), real, 1e-7 * real);
  }
  EXPECT_EQ(node.integers->least, 0);
  EXPECT_EQ(node.integers->most, 255);
}

TEST(IntegerEngine, ComputesWhatItsNumbersSay) {
  NetworkDefinition net = OneConvolution();
  net.SetRange("data", -1, 3);
  net.SetRange("conv", 0, 2);
  for (const QuantizationScheme scheme :
       {QuantizationScheme::SYMMETRIC, QuantizationScheme::AFFINE, QuantizationScheme::PAPER}) {
    SCOPED_TRACE(Name(scheme));
    const auto engine = Builder(IntegerConfig(scheme)).Build(net);
    SCOPED_TRACE(engine->layers()[1].implementation);
    for (const LayerInfo& layer : engine->layers()) {
      EXPECT_TRUE(layer.integers || layer.type == kReorder) << layer.name;
    }
    ExecutionContext context(engine);
    const float data[] = {-1, 0.5, 3}, wanted[] = {0, 0.5, 1.75, 1, 0, 0};
    std::copy_n(data, 3, context.Input("data"));
    context.Run();
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(context.Output("conv")[i], wanted[i], 0.03) << i;
    EXPECT_FLOAT_EQ(engine->OutputAffine("conv")->scale, 2.f / 255);
  }
}

/// A 1x1 convolution of 16 channels, inputs up to 1, whose weights are all 1.
NetworkDefinition EqualWeights(float bias = 0, float largest_output = 16) {
  NetworkDefinition net("equal");
  net.AddInput("data", {1, 16, 4, 4});
  net.AddLayer(ParseNet("layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' "
                        "        convolution_param { num_output: 16 kernel_size: 1 } }")
                   .layer(0),
               {Constant::Of({16, 16, 1, 1}, std::vector<float>(256, 1.f)),
                Constant::Of({16}, std::vector<float>(16, bias))});
  net.MarkOutput("conv");
  net.SetRange("data", 0, 1);
  net.SetRange("conv", 0, largest_output);
  return net;
}

std::string KernelOfLayer(const Engine& engine, const std::string& layer) {
  for (const LayerInfo& info : engine.layers()) {
    if (info.name == layer) return info.implementation;
  }
  return "";
}

TEST(Builder, ReducesTheRangeOfWeightsForProductsOfBytes) {
  for (const Arithmetic arithmetic : {Arithmetic::FLOAT, Arithmetic::INTEGER_ONLY}) {
    for (const bool reduced : {false, true}) {
      SCOPED_TRACE(::testing::Message() << Name(arithmetic) << ", reduced: " << reduced);
      BuilderConfig config = IntegerConfig(QuantizationScheme::SYMMETRIC);
      config.quantization.arithmetic = arithmetic;
      config.quantization.reduce_range = reduced;
      const auto engine = Builder(config).Build(EqualWeights());
      const bool gains = reduced && kernels::HasSaturatingByteProducts();
      const std::string implementation = KernelOfLayer(*engine, "conv");
      EXPECT_EQ(implementation.rfind("int8_small_pairs", 0) == 0, gains) << implementation;
      // Two weights of 127 steps do not fit; a step of the output is 16 / 255.
      const std::string file = NewFileName();
      engine->Save(file);
      ExecutionContext context(Engine::Load(file));
      std::fill_n(context.Input("data"), 256, 1.f);
      context.Run();
      for (int i = 0; i < 256; ++i) EXPECT_NEAR(context.Output("conv")[i], 16, 0.07) << i;
    }
  }
}

// Outputs of up to 0.01 know the bias in steps of half of theirs: weights of 200 such steps.
TEST(Builder, ReducesTheRangeOfWeightsThatFollowTheBias) {
  BuilderConfig config = IntegerConfig(QuantizationScheme::SYMMETRIC);
  config.quantization.reduce_range = true;
  const auto engine = Builder(config).Build(EqualWeights(/*bias=*/0.004f, 0.01f));
  const std::string implementation = KernelOfLayer(*engine, "conv");
  EXPECT_EQ(implementation.rfind("int8_small_pairs", 0) == 0, kernels::HasSaturatingByteProducts())
      << implementation;
  ExecutionContext context(engine);
  for (const float input : {0.f, 1.f}) {
    std::fill_n(context.Input("data"), 256, input);
    context.Run();
    for (int i = 0; i < 256; ++i) {
      EXPECT_NEAR(context.Output("conv")[i], input == 0 ? 0.004 : 0.01, 5e-5) << i;
    }
  }
}

TEST(Builder, ReducesTheRangeOnlyOfWeightsThatItChooses) {
  NetworkDefinition net = OneConvolution();
  net.SetRange("data", -1, 3);
  net.SetRange("conv", 0, 2);
  BuilderConfig config = IntegerConfig(QuantizationScheme::SYMMETRIC);
  config.quantization.reduce_range = true;
  EXPECT_NE(Builder(config).Build(net), nullptr);
  const auto refuses = [&](const BuilderConfig& changed, const NetworkDefinition& of,
                           const char* why) {
    const std::string error = ErrorOf([&] { Builder(changed).Build(of); });
    ExpectContains(error, "-reduce_range");
    ExpectContains(error, why);
  };
  BuilderConfig other = config;
  other.quantization.scheme = QuantizationScheme::PAPER;
  refuses(other, net, "is for -quantization symmetric and affine");
  other = config;
  other.precision = Precision::FP16;
  other.quantization = Quantization();
  other.quantization.reduce_range = true;
  refuses(other, net, "is for int8, not for -precision fp16");
  other = config;
  other.backend = Backend::CUDA;
  refuses(other, net, "is for the CPU");
  // A layer of a net in floats, by the definition.
  NetworkDefinition of_layers = OneConvolution();
  of_layers.SetRange("data", -1, 3);
  of_layers.SetRange("conv", 0, 2);
  of_layers.SetPrecision("conv", Precision::INT8);
  other = config;
  other.precision = Precision::FP32;
  other.quantization.arithmetic.reset();
  EXPECT_NE(Builder(other).Build(of_layers), nullptr);
  TrainedRanges trained;
  trained.blobs["data"] = {-1, 3};
  NetworkDefinition trained_net = OneConvolution();
  trained_net.TakeTraining(trained);
  other = config;
  other.quantization.scheme.reset();
  refuses(other, trained_net, "'one' was trained for integers");
}

TEST(IntegerEngine, NamesWhatIntegersCannotCompute) {
  NetworkDefinition net = OneConvolution();
  net.SetRange("data", -1, 3);
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "'conv'");
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "range of blob 'conv' is not known");
  config.quantization.arithmetic = Arithmetic::INTEGER;
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  Builder(config).Build(net);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("'conv' (Convolution) computes in floats"), std::string::npos);
}

TEST(IntegerEngine, SaysWhereACalibrationFillsInForTraining) {
  NetworkDefinition net = OneConvolution();
  TrainedRanges trained;
  trained.blobs["data"] = {-1, 3};
  net.TakeTraining(trained);
  auto calibrated = std::make_shared<CalibrationTable>();
  calibrated->Set("data", Seen(-100, 100));
  calibrated->Set("conv", Seen(0, 2));
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  config.calibration = calibrated;
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  const auto engine = Builder(config).Build(net);
  ASSERT_EQ(remarks.size(), 1u);
  ExpectContains(remarks[0], "training has not seen is taken, the range of 'conv'");
  EXPECT_FLOAT_EQ(engine->OutputAffine("conv")->scale, 2.f / 255);
}

TEST(IntegerEngine, LeavesToFloatsWhatIsOutOfRange) {
  NetworkDefinition net = OneConvolution();
  net.SetRange("data", -1, 3);
  net.SetRange("conv", 0, 1e-20f);  // in whose steps the bias does not fit 31 bits
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "31 bits do not hold");
  config.quantization.arithmetic = Arithmetic::INTEGER;
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  const auto engine = Builder(config).Build(net);
  ASSERT_EQ(remarks.size(), 1u);
  ExpectContains(remarks[0],
                 "layer 'conv' (Convolution) computes in floats: bias 0.25 of output 0");
  ExecutionContext context(engine);
  std::fill_n(context.Input("data"), 3, 0.5f);
  context.Run();
  EXPECT_FLOAT_EQ(context.Output("conv")[0], 0.5f);
}

/// Two convolutions of one blob and the ReLU of their sum, with values up to 1, 2 and 3. `sum` has
/// what the Eltwise says.
NetworkDefinition TwoConvolutions(const std::string& sum) {
  NetworkDefinition net("two");
  net.AddInput("data", {1, 3, 5, 5});
  const NetParameter param =
      ParseNet(Join("layer { name: 'first' type: 'Convolution' bottom: 'data' top: 'first' "
                    "        convolution_param { num_output: 3 kernel_size: 1 } } "
                    "layer { name: 'second' type: 'Convolution' bottom: 'data' top: 'second' "
                    "        convolution_param { num_output: 3 kernel_size: 3 pad: 1 } } "
                    "layer { name: 'sum' type: 'Eltwise' top: 'sum' ",
                    sum,
                    "} "
                    "layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'relu' }"));
  for (int i = 0; i < 4; ++i) {
    const int taps = i == 0 ? 1 : 9;
    std::vector<Constant> weights;
    std::vector<float> values;
    for (int k = 0; k < 9 * taps; ++k) values.push_back(static_cast<float>(k % 7 - 3) / 16);
    if (i < 2) weights.push_back(Constant::Of({3, 3, i == 0 ? 1 : 3, i == 0 ? 1 : 3}, values));
    if (i < 2) weights.push_back(Constant::Of({3}, {0.25f, -0.5f, 0.f}));
    net.AddLayer(param.layer(i), weights);
  }
  net.MarkOutput("relu");
  net.SetRange("data", -1, 1);
  net.SetRange("first", -1, 1);
  net.SetRange("second", -2, 2);
  net.SetRange("sum", -3, 3);
  net.SetRange("relu", 0, 3);
  return net;
}

Graph SeparateGraphOf(const NetworkDefinition& net) {
  return QuantizedGraph(net, IntegerConfig(QuantizationScheme::AFFINE));
}
Graph FusedGraphOf(const NetworkDefinition& net) {
  return FuseIntegerResiduals(SeparateGraphOf(net));
}

// Whichever of its bottoms that is.
TEST(FuseIntegerResiduals, AddsToTheConvolutionThatRunsLast) {
  for (const char* bottoms :
       {"bottom: 'first' bottom: 'second'", "bottom: 'second' bottom: 'first'"}) {
    SCOPED_TRACE(bottoms);
    const Graph separate = SeparateGraphOf(TwoConvolutions(bottoms));
    const AffineParameters second = separate.values[separate.FindValue("second")].affine;
    const Graph graph = FuseIntegerResiduals(separate);
    graph.Validate();
    ASSERT_EQ(graph.nodes.size(), 2u) << ToText(graph);
    const Node& node = graph.nodes[1];
    EXPECT_EQ(node.name(), "second");
    ASSERT_EQ(node.epilogue.size(), 2u);
    EXPECT_EQ(node.epilogue[0].operand, graph.FindValue("first"));
    const auto sum = FusedSumOf(node);
    ASSERT_TRUE(sum.has_value());
    EXPECT_EQ(sum->before.scale, second.scale);
    EXPECT_EQ(sum->before.zero_point, second.zero_point);
    EXPECT_EQ(sum->least, 0);
    EXPECT_EQ(sum->most, 255);
    EXPECT_DOUBLE_EQ(RealOf(sum->multipliers[0]), 0.5) << "of what has the larger scale";
    EXPECT_NEAR(RealOf(sum->multipliers[1]), 0.25, 1e-6);
    const Value& y = graph.values[node.outputs[0]];
    EXPECT_EQ(node.integers->least, y.affine.zero_point) << "ReLU";
  }
}

TEST(FuseIntegerResiduals, LeavesAloneWhatIsReadElsewhereOrHasCoefficients) {
  const std::string bottoms = "bottom: 'first' bottom: 'second' ";
  NetworkDefinition read_elsewhere = TwoConvolutions(bottoms);
  read_elsewhere.MarkOutput("second");
  EXPECT_EQ(FusedGraphOf(read_elsewhere).nodes.size(), 3u);
  for (const char* param : {"coeff: 0.5 coeff: -1", "operation: PROD", "operation: MAX"}) {
    const auto net = TwoConvolutions(bottoms + "eltwise_param { " + param + " }");
    EXPECT_EQ(FusedGraphOf(net).nodes.size(), 3u) << param;
  }
}

std::vector<float> OnlyOutputOf(const std::shared_ptr<const Engine>& engine) {
  ExecutionContext context(engine);
  for (int i = 0; i < 75; ++i) context.Input("data")[i] = static_cast<float>(i % 17 - 8) / 8;
  context.Run();
  return {context.Output("relu"), context.Output("relu") + 75};
}

TEST(IntegerEngine, AddsAResidualWhileItWritesWithTheBitsOfASum) {
  const NetworkDefinition net = TwoConvolutions("bottom: 'first' bottom: 'second'");
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  const auto engine = Builder(config).Build(net);
  const auto has_sum = [](const std::shared_ptr<const Engine>& of) {
    const std::vector<LayerInfo> layers = of->layers();
    return std::any_of(layers.begin(), layers.end(),
                       [](const LayerInfo& layer) { return layer.type == "Eltwise"; });
  };
  EXPECT_FALSE(has_sum(engine));
  std::optional<SumInfo> sum;  // of the second convolution, which may be joined with the first
  for (const LayerInfo& layer : engine->layers()) {
    for (const IntegerInfo& info : layer.in_integers) {
      if (info.name == "second") sum = info.sum;
    }
  }
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->name, "sum");
  EXPECT_FLOAT_EQ(sum->before.scale, 4.f / 255);
  EXPECT_EQ(sum->multipliers.size(), 3u);
  ExpectContains(engine->ToJson(), "\"before\":");
  config.skip_passes = {"residuals"};
  const auto separate = Builder(config).Build(net);
  EXPECT_TRUE(has_sum(separate));
  const std::vector<float> output = OnlyOutputOf(engine);
  EXPECT_EQ(output, OnlyOutputOf(separate));
  const std::string file = NewFileName();
  engine->Save(file);
  EXPECT_EQ(output, OnlyOutputOf(Engine::Load(file)));
}

struct InPlace {
  const char* name;
  const char* prototxt;
  float (*function)(float);
};
std::ostream& operator<<(std::ostream& stream, const InPlace& c) { return stream << c.name; }

class ActivationInPlace : public ::testing::TestWithParam<InPlace> {};

// Calibration sees the output's range alone: that of what goes into the activation follows from it.
TEST_P(ActivationInPlace, KeepsLargeValues) {
  NetworkDefinition net("one");
  net.AddInput("data", {1, 4});
  const NetParameter param = ParseNet(
      Join("layer { name: 'twice' type: 'Eltwise' bottom: 'data' bottom: 'data' top: 'y' }",
           "layer { name: 'function' bottom: 'y' top: 'y' ", GetParam().prototxt, " }"));
  net.AddLayer(param.layer(0));
  net.AddLayer(param.layer(1));
  net.MarkOutput("y");
  const float data[] = {-1, -0.25, 0.25, 0.5};
  std::vector<float> expected;
  for (const float x : data) expected.push_back(GetParam().function(2 * x));
  const auto range = std::minmax_element(expected.begin(), expected.end());
  net.SetRange("data", -1, 0.5);
  net.SetRange("y", *range.first, *range.second);
  ExecutionContext context(Builder(IntegerConfig(QuantizationScheme::AFFINE)).Build(net));
  std::copy_n(data, 4, context.Input("data"));
  context.Run();
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(context.Output("y")[i], expected[i], 0.03) << i;
}

INSTANTIATE_TEST_SUITE_P(
    , ActivationInPlace,
    ::testing::Values(
        InPlace{"ReLU", "type: 'ReLU'", [](float x) { return std::max(x, 0.f); }},
        InPlace{"LeakyReLU", "type: 'ReLU' relu_param { negative_slope: 0.1 }",
                [](float x) { return x > 0 ? x : x / 10; }},
        InPlace{"Sigmoid", "type: 'Sigmoid'", [](float x) { return 1 / (1 + std::exp(-x)); }},
        InPlace{"TanH", "type: 'TanH'", [](float x) { return std::tanh(x); }},
        InPlace{"ELU", "type: 'ELU'", [](float x) { return x > 0 ? x : std::expm1(x); }},
        InPlace{"ScaledELU", "type: 'ELU' elu_param { lambda: 0.25 }",
                [](float x) { return (x > 0 ? x : std::expm1(x)) / 4; }},
        InPlace{"LeakyReLU6", "type: 'ReLU6' relu6_param { negative_slope: 0.1 threshold: 0.75 }",
                [](float x) { return x > 0 ? std::min(x, 0.75f) : x / 10; }},
        InPlace{"HardSwish", "type: 'HardSwish'",
                [](float x) { return x * std::clamp(x / 6 + 0.5f, 0.f, 1.f); }},
        InPlace{"GELU", "type: 'GELU'",
                [](float x) { return x * std::erfc(-x * std::sqrt(0.5f)) / 2; }},
        InPlace{"Swish", "type: 'Swish'", [](float x) { return x / (1 + std::exp(-x)); }},
        InPlace{"SteepSwish", "type: 'Swish' swish_param { beta: 4 }",
                [](float x) { return x / (1 + std::exp(-4 * x)); }}),
    [](const auto& info) { return info.param.name; });

/// A 1x1 convolution of one channel by this weight.
void AddWeight(const std::string& name, const std::string& bottom, float weight,
               NetworkDefinition* net) {
  net->AddLayer(ParseNet(Join("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom,
                              "' top: '", name,
                              "' convolution_param { num_output: 1 kernel_size: 1 "
                              "bias_term: false } }"))
                    .layer(0),
                {Constant::Of({1, 1, 1, 1}, {weight})});
}

void AddLayerOf(const std::string& text, NetworkDefinition* net) {
  net->AddLayer(ParseNet("layer { " + text + " }").layer(0));
}

// Convolutions of one bottom do not become one where they would share one range.
TEST(IntegerEngine, KeepsSmallSiblingsOfLargeValues) {
  NetworkDefinition net("siblings");
  net.AddInput("data", {1, 1, 1, 4});
  AddWeight("large", "data", 1, &net);
  AddWeight("small", "data", 0.001f, &net);
  net.SetRange("data", -1, 1);
  net.SetRange("large", -1, 1);
  net.SetRange("small", -0.001, 0.001);
  net.MarkOutput("large");
  net.MarkOutput("small");
  ExecutionContext context(Builder(IntegerConfig(QuantizationScheme::AFFINE)).Build(net));
  const float data[] = {-1, -0.25, 0.5, 1};
  std::copy_n(data, 4, context.Input("data"));
  context.Run();
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(context.Output("large")[i], data[i], 0.02) << i;
    EXPECT_NEAR(context.Output("small")[i], data[i] / 1000, 0.00002) << i;
  }
}

TEST(IntegerEngine, SaysWhichBottomsOfAConcatLoseTheirBits) {
  NetworkDefinition net("concat");
  net.AddInput("data", {1, 1, 1, 4});
  AddWeight("large", "data", 1, &net);
  AddWeight("small", "data", 0.01f, &net);
  AddWeight("half", "data", 0.5f, &net);
  AddLayerOf("name: 'all' type: 'Concat' bottom: 'large' bottom: 'small' bottom: 'half' top: 'all'",
             &net);
  AddLayerOf(
      "name: 'sum' type: 'Pooling' bottom: 'all' top: 'sum' "
      "pooling_param { pool: AVE kernel_size: 1 }",
      &net);
  net.SetRange("data", -1, 1);
  net.SetRange("large", -1, 1);
  net.SetRange("small", -0.01, 0.01);
  net.SetRange("half", -0.5, 0.5);
  net.MarkOutput("sum");
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& remark) { remarks.push_back(remark); };
  Builder(config).Build(net);
  EXPECT_EQ(remarks, std::vector<std::string>{
                         "blob 'small' keeps 2 of its 8 bits: layer 'all' (Concat) gives its "
                         "bottoms one range"});

  TrainedNumbers trained;
  trained.activation_bits = 4;
  config.quantization.training = trained;
  remarks.clear();
  net.SetRange("small", -1, 1);
  Builder(config).Build(net);
  EXPECT_EQ(remarks, std::vector<std::string>()) << "ranges are alike";
}

// What follows from a function that tends to a constant is a range for that function alone.
TEST(IntegerEngine, DoesNotTakeTheRangeOfAFunctionForOtherReaders) {
  for (const char* other :
       {"type: 'Upsample' upsample_param { scale: 2 }", "type: 'Permute'", "type: 'Flatten'"}) {
    SCOPED_TRACE(other);
    NetworkDefinition net("shared");
    net.AddInput("data", {1, 1, 1, 4});
    AddLayerOf("name: 'tanh' type: 'TanH' bottom: 'data' top: 'tanh'", &net);
    AddWeight("conv", "tanh", 1, &net);
    AddLayerOf(Join("name: 'other' bottom: 'data' top: 'other' ", other), &net);
    net.SetRange("tanh", -1, 1);
    net.SetRange("conv", -1, 1);
    net.MarkOutput("conv");
    net.MarkOutput("other");
    BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
    std::string remarks;
    config.remark = [&](const std::string& remark) { remarks += remark; };
    config.quantization.arithmetic = Arithmetic::INTEGER;
    ExecutionContext context(Builder(config).Build(net));
    ExpectContains(remarks, "the range of blob 'data' is not known");
    const float data[] = {-30, -0.5, 0.5, 30};
    std::copy_n(data, 4, context.Input("data"));
    context.Run();
    EXPECT_EQ(context.Output("other")[0], -30);
    const Shape shape = context.OutputShape("other");
    EXPECT_EQ(context.Output("other")[CountOf(shape) - 1], 30);
    EXPECT_NEAR(context.Output("conv")[1], std::tanh(-0.5), 0.02);
  }
}

// A function's scale is that of 8 bits, whatever other blobs have: so is a mean's of its values.
TEST(IntegerEngine, MeansOfFunctionsHaveTheirEightBits) {
  NetworkDefinition net("mean");
  net.AddInput("data", {1, 1, 2, 2});
  AddWeight("conv", "data", 1, &net);
  AddLayerOf("name: 'sigmoid' type: 'Sigmoid' bottom: 'conv' top: 'sigmoid'", &net);
  AddLayerOf(
      "name: 'mean' type: 'Pooling' bottom: 'sigmoid' top: 'mean' "
      "pooling_param { pool: AVE kernel_size: 2 }",
      &net);
  net.SetRange("data", -4, 4);
  net.SetRange("conv", -4, 4);
  net.MarkOutput("mean");
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  TrainedNumbers trained;
  trained.activation_bits = 6;
  config.quantization.training = trained;
  ExecutionContext context(Builder(config).Build(net));
  std::fill_n(context.Input("data"), 4, 3.f);
  context.Run();
  EXPECT_NEAR(context.Output("mean")[0], 1 / (1 + std::exp(-3.)), 0.02);
}

// As in training: an input, or what floats compute, may be larger than its range.
TEST(IntegerEngine, BlobsOfFewBitsAreClampedWhereFloatsBecomeBytes) {
  for (const auto scheme : {QuantizationScheme::AFFINE, QuantizationScheme::SYMMETRIC}) {
    NetworkDefinition net("few");
    net.AddInput("data", {1, 1, 1, 2});
    AddLayerOf("name: 'mvn' type: 'MVN' bottom: 'data' top: 'mvn'", &net);
    AddWeight("conv", "data", 1, &net);
    AddWeight("other", "mvn", 1, &net);
    net.SetRange("data", -1.5, 1.5);
    net.SetRange("mvn", -0.5, 0.5);
    net.SetRange("conv", -8, 8);
    net.SetRange("other", -8, 8);
    for (const char* output : {"conv", "other", "mvn", "data"}) net.MarkOutput(output);
    BuilderConfig config = IntegerConfig(scheme);
    config.quantization.arithmetic = Arithmetic::INTEGER;
    TrainedNumbers trained;
    trained.activation_bits = 4;
    config.quantization.training = trained;
    ExecutionContext context(Builder(config).Build(net));
    const float data[] = {6, -6};
    std::copy_n(data, 2, context.Input("data"));
    context.Run();
    const float step = 16.f / 15;  // of what the convolutions write
    EXPECT_NEAR(context.Output("conv")[0], 1.5, step) << "of -8 to 8";
    EXPECT_NEAR(context.Output("conv")[1], -1.5, step);
    EXPECT_NEAR(context.Output("other")[0], 0.5, step);
    EXPECT_NEAR(context.Output("mvn")[1], -0.5, 0.1) << "an output has the blob's rounded numbers";
    EXPECT_EQ(std::string(context.engine().outputs().back()), "data")
        << "is what it is as an input";
  }
}

TEST(IntegerEngine, RefusesOtherPrecisionsAndBackends) {
  NetworkDefinition net = OneConvolution();
  BuilderConfig config = IntegerConfig(QuantizationScheme::AFFINE);
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "calibration");
  config.precision = Precision::FP16;
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "-precision int8");
  config.precision = Precision::INT8;
  config.quantization.scheme = QuantizationScheme::PAPER;
  config.quantization.arithmetic = Arithmetic::FLOAT;
  net.SetRange("data", -1, 3);
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "paper");
  ExpectContains(ErrorOf([&] { Builder(config).Build(net); }), "-arithmetic integer");
}

TEST(IntegerEngine, SaysThatANetsArithmeticIsForInt8Alone) {
  NetworkDefinition net = OneConvolution();
  net.SetRange("data", -1, 3);
  net.SetRange("conv", -4, 4);
  Quantization integers;
  integers.arithmetic = Arithmetic::INTEGER;
  net.SetQuantization(integers);
  BuilderConfig config;
  config.timing_iterations = 0;
  std::vector<std::string> remarks;
  config.remark = [&](const std::string& line) { remarks.push_back(line); };
  for (const Precision precision : {Precision::FP32, Precision::INT8}) {
    config.precision = precision;
    Builder(config).Build(net);
  }
  EXPECT_EQ(remarks, std::vector<std::string>());
  config.precision = Precision::BEST;
  Builder(config).Build(net);
  ASSERT_FALSE(remarks.empty());
  ExpectContains(remarks[0], "with best sums of integers are rescaled by floats");
}

}  // namespace
}  // namespace caffe::inference
