// AbsVal, BNLL, Clip, ELU, Exp, GELU, HardSwish, Log, Power, ReLU6, Sigmoid, Swish, TanH,
// Threshold.
#include <cmath>

#include "caffe/layers/sigmoid_layer.hpp"
#include "caffe/layers/swish_layer.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

/// A case in place or not on a bottom of odd shape that is filled with `fill`.
LayerCase ActivationCase(const std::string& name, const std::string& prototxt,
                         Fill fill = Fill::GAUSSIAN) {
  return LayerCase(name, prototxt).Bottom({kOddN, kOddC, kOddH}, fill).InPlace();
}

const std::vector<LayerCase> kActivationCases = {
    ActivationCase("AbsVal", "type: 'AbsVal'", Fill::DISTINCT),
    LayerCase("AbsValLarge", "type: 'AbsVal'").Bottom({3, 1031}, Fill::DISTINCT).InPlace(),
    ActivationCase("BNLL", "type: 'BNLL'"),
    ActivationCase("BNLLFar", "type: 'BNLL'", Fill::DISTINCT),
    ActivationCase("Clip", "type: 'Clip' clip_param { min: -2 max: 3 }", Fill::DISTINCT),
    ActivationCase("ClipToOneNumber", "type: 'Clip' clip_param { min: 1 max: 1 }", Fill::DISTINCT),
    ActivationCase("ELU", "type: 'ELU'", Fill::DISTINCT),
    ActivationCase("ELUAlpha", "type: 'ELU' elu_param { alpha: 0.5 }", Fill::DISTINCT),
    ActivationCase("ELUNegativeAlpha", "type: 'ELU' elu_param { alpha: -0.5 }", Fill::DISTINCT),
    ActivationCase("ELUZeroAlpha", "type: 'ELU' elu_param { alpha: 0 }", Fill::DISTINCT),
    ActivationCase("SELU", "type: 'ELU' elu_param { alpha: 1.6733 lambda: 1.0507 }",
                   Fill::DISTINCT),
    ActivationCase("Exp", "type: 'Exp'"),
    ActivationCase("ExpScaleShift", "type: 'Exp' exp_param { scale: 0.5 shift: -1 }"),
    ActivationCase("ExpBase", "type: 'Exp' exp_param { base: 2 scale: 3 shift: 1 }"),
    ActivationCase("ExpFalling", "type: 'Exp' exp_param { base: 0.5 shift: 1 }"),
    ActivationCase("GELU", "type: 'GELU'"),
    ActivationCase("GELUFar", "type: 'GELU'", Fill::DISTINCT),
    ActivationCase("HardSwish", "type: 'HardSwish'", Fill::DISTINCT),
    LayerCase("HardSwishLarge", "type: 'HardSwish'").Bottom({3, 1031}).InPlace(),
    ActivationCase("Log", "type: 'Log'", Fill::POSITIVE),
    ActivationCase("LogBase", "type: 'Log' log_param { base: 2 }", Fill::POSITIVE),
    ActivationCase("LogSmallBase", "type: 'Log' log_param { base: 0.1 scale: 2 shift: 3 }",
                   Fill::POSITIVE),
    ActivationCase("Power", "type: 'Power'"),
    ActivationCase("PowerAffine", "type: 'Power' power_param { scale: -3 shift: 0.5 }"),
    ActivationCase("PowerSquare", "type: 'Power' power_param { power: 2 }"),
    ActivationCase("PowerSquareShift",
                   "type: 'Power' power_param { power: 2 scale: 0.5 shift: -1 }"),
    ActivationCase("PowerRoot", "type: 'Power' power_param { power: 0.5 }", Fill::POSITIVE),
    ActivationCase("PowerFraction",
                   "type: 'Power' power_param { power: 0.37 scale: 0.83 shift: 2.4 }",
                   Fill::POSITIVE),
    ActivationCase("PowerReciprocal", "type: 'Power' power_param { power: -1 shift: 0.5 }",
                   Fill::POSITIVE),
    ActivationCase("PowerOddCube", "type: 'Power' power_param { power: 3 shift: -1 }"),
    ActivationCase("PowerZero", "type: 'Power' power_param { power: 0 scale: 2 shift: 3 }"),
    ActivationCase("PowerOfAConstant", "type: 'Power' power_param { power: 3 scale: 0 shift: 2 }"),
    ActivationCase("ReLU6", "type: 'ReLU6'", Fill::DISTINCT),
    ActivationCase("ReLU6Threshold",
                   "type: 'ReLU6' relu6_param { threshold: 0.9 negative_slope: 0.1 }",
                   Fill::DISTINCT),
    ActivationCase("ReLU6NegativeSlope",
                   "type: 'ReLU6' relu6_param { threshold: 0.9 negative_slope: -0.5 }",
                   Fill::DISTINCT),
    LayerCase("ReLU6Large", "type: 'ReLU6'").Bottom({2, 1031}, Fill::DISTINCT).InPlace(),
    ActivationCase("Sigmoid", "type: 'Sigmoid'"),
    ActivationCase("SigmoidFar", "type: 'Sigmoid'", Fill::DISTINCT),
    LayerCase("SigmoidLarge", "type: 'Sigmoid'").Bottom({3, 1031}).InPlace(),
    ActivationCase("Swish", "type: 'Swish'"),
    ActivationCase("SwishBeta", "type: 'Swish' swish_param { beta: -1.5 }"),
    ActivationCase("SwishLinear", "type: 'Swish' swish_param { beta: 0 }"),
    ActivationCase("TanH", "type: 'TanH'"),
    ActivationCase("TanHFar", "type: 'TanH'", Fill::DISTINCT),
    LayerCase("Threshold", "type: 'Threshold'")
        .Bottom({kOddN, kOddC}, Fill::DISTINCT)
        .InPlace()
        .WithoutGradients(),
    LayerCase("ThresholdParameter", "type: 'Threshold' threshold_param { threshold: 1.75 }")
        .Bottom({kOddN, kOddC}, Fill::DISTINCT)
        .InPlace()
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(Activation, LayerCases, ::testing::ValuesIn(kActivationCases), CaseName());

const std::vector<BadLayerCase> kActivationBadCases = {
    BadLayerCase("ClipWithout", "type: 'Clip'").Bottom({2}).Says("clip_param: give min and max"),
    BadLayerCase("ClipOrder", "type: 'Clip' clip_param { min: 2 max: 1 }")
        .Bottom({2})
        .Says("min must not be greater than max, got 2 and 1"),
    BadLayerCase("ExpBase", "type: 'Exp' exp_param { base: 0 }")
        .Bottom({2})
        .Says("exp_param: base must be positive"),
    BadLayerCase("ExpNegativeBase", "type: 'Exp' exp_param { base: -2 }")
        .Bottom({2})
        .Says("base must be positive, or -1 for e, got -2"),
    BadLayerCase("LogBase", "type: 'Log' log_param { base: 1 }")
        .Bottom({2})
        .Says("base must be positive and not 1"),
    BadLayerCase("LogNegativeBase", "type: 'Log' log_param { base: -3 }")
        .Bottom({2})
        .Says("got -3"),
    BadLayerCase("LogZeroBase", "type: 'Log' log_param { base: 0 }").Bottom({2}).Says("got 0"),
    BadLayerCase("ReLU6Threshold", "type: 'ReLU6' relu6_param { threshold: 0 }")
        .Bottom({2})
        .Says("relu6_param: threshold must be positive, got 0"),
    BadLayerCase("TwoBottoms", "type: 'Sigmoid'").Bottom({2}).Bottom({2}).Says("exactly 1 bottom"),
};
INSTANTIATE_TEST_SUITE_P(Activation, BadLayerCases, ::testing::ValuesIn(kActivationBadCases),
                         CaseName());

void ExpectFloats(const Floats& actual, const Floats& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_FLOAT_EQ(actual[i], expected[i]) << i;
}

TEST(PowerValues, ShiftsScalesAndRaises) {
  Example example("type: 'Power' power_param { power: 3 scale: 2 shift: -1 }");
  example.Bottom({3}, {0, 1, 2}).SetUp();
  ExpectFloats(example.Forward(), {-1, 1, 27});
  ExpectFloats(example.Backward({1, 1, 10}), {6, 6, 540});
}

// Caffe's rules: 0 to the power of 0 is 1; scale 0 leaves the shift.
TEST(PowerValues, ConstantsAreConstant) {
  const float infinity = std::numeric_limits<float>::infinity();
  Example zero("type: 'Power' power_param { power: 0 }");
  zero.Bottom({2}, {0, infinity}).SetUp();
  EXPECT_EQ(zero.Forward(), (Floats{1, 1}));
  EXPECT_EQ(zero.Backward({5, 5}), (Floats{0, 0}));
  Example shift("type: 'Power' power_param { power: 3 scale: 0 shift: 2 }");
  shift.Bottom({2}, {7, infinity}).SetUp();
  EXPECT_EQ(shift.Forward(), (Floats{8, 8}));
  EXPECT_EQ(shift.Backward({5, 5}), (Floats{0, 0}));
}

TEST(PowerValues, TheGradientAtZeroIsANumber) {
  Example example("type: 'Power' power_param { power: 2 }");
  example.Bottom({1}, {0}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0}));
  EXPECT_EQ(example.Backward({5}), (Floats{0}));
}

TEST(ExpValues, RaisesTheBase) {
  Example example("type: 'Exp' exp_param { base: 2 scale: 3 shift: 1 }");
  example.Bottom({3}, {0, 1, -1}).SetUp();
  ExpectFloats(example.Forward(), {2, 16, 0.25});
  ExpectFloats(example.Backward({1, 1, 0}), {6 * std::log(2.f), 48 * std::log(2.f), 0});
}

TEST(LogValues, TakesTheBase) {
  Example example("type: 'Log' log_param { base: 10 scale: 9 shift: 1 }");
  example.Bottom({2}, {0, 11}).SetUp();
  ExpectFloats(example.Forward(), {0, 2});
  ExpectFloats(example.Backward({1, 1}), {9 / std::log(10.f), 9 / (100 * std::log(10.f))});
}

TEST(EluValues, AlphaBelowZeroLambdaEverywhere) {
  Example example("type: 'ELU' elu_param { alpha: 2 lambda: 3 }");
  example.Bottom({2}, {5, std::log(0.25f)}).SetUp();
  ExpectFloats(example.Forward(), {15, -4.5});
  ExpectFloats(example.Backward({1, 1}), {3, 1.5});
}

TEST(ClipValues, TheGradientPassesAtTheLimits) {
  Example example("type: 'Clip' clip_param { min: -1 max: 2 }");
  example.Bottom({5}, {-3, -1, 0.5, 2, 3}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, -1, 0.5, 2, 2}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5}), (Floats{0, 2, 3, 4, 0}));
}

TEST(ReLU6Values, EndsAtSix) {
  Example example("type: 'ReLU6'");
  example.Bottom({5}, {-1, 0, 3, 6, 7}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0, 3, 6, 6}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5}), (Floats{0, 0, 3, 0, 0}));
}

TEST(ThresholdValues, OnlyWhatIsGreaterIsOne) {
  Example example("type: 'Threshold' threshold_param { threshold: 1 }");
  example.Bottom({3}, {0.5, 1, 1.5}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0, 1}));
  EXPECT_THROW(example.Backward({1, 1, 1}), Error);
}

TEST(BnllValues, DoesNotOverflow) {
  Example example("type: 'BNLL'");
  example.Bottom({3}, {0, 1000, -1000}).SetUp();
  ExpectFloats(example.Forward(), {std::log(2.f), 1000, 0});
  ExpectFloats(example.Backward({2, 2, 2}), {1, 2, 0});
}

// Far below 0, where log(1 + exp(x)) is exp(x), too.
TEST(BnllValues, AreExactInAllEngines) {
  Floats x;
  for (int i = -120; i <= 120; ++i) x.push_back(0.25f * static_cast<float>(i));
  for (const std::string engine : {"CAFFE", "ONEDNN"}) {
    Example example("type: 'BNLL' engine: '" + engine + "'");
    example.Bottom({static_cast<int>(x.size())}, x).SetUp();
    const Floats y = example.Forward();
    const Floats dx = example.Backward(Floats(x.size(), 1));
    for (size_t i = 0; i < x.size(); ++i) {
      const double exponential = std::exp(static_cast<double>(x[i]));
      const double value = std::log1p(exponential), slope = exponential / (1 + exponential);
      EXPECT_NEAR(y[i], value, 1e-6 * value) << engine << " of " << x[i];
      EXPECT_NEAR(dx[i], slope, 1e-6 * slope) << engine << " of " << x[i];
    }
  }
}

TEST(SigmoidValues, HalfAtZero) {
  Example example("type: 'Sigmoid'");
  example.Bottom({3}, {0, std::log(3.f), -std::log(3.f)}).SetUp();
  ExpectFloats(example.Forward(), {0.5, 0.75, 0.25});
  ExpectFloats(example.Backward({4, 16, 16}), {1, 3, 3});
}

TEST(TanhValues, OfHalfALogarithm) {
  Example example("type: 'TanH'");
  example.Bottom({2}, {0, std::log(3.f) / 2}).SetUp();
  ExpectFloats(example.Forward(), {0, 0.5});
  ExpectFloats(example.Backward({1, 4}), {1, 3});
}

/// A program's own layer on one of the library's.
class OwnSwish : public SwishLayer<float> {
 public:
  explicit OwnSwish(const LayerParameter& param) : SwishLayer<float>(param) {}
  const char* type() const override { return "OwnSwish"; }
};

// As programs make layers that compute a part of theirs.
TEST(ActivationLayers, DoNotDependOnTheTypeThatTheirParameterNames) {
  Blob<float> x(std::vector<int>{2}), y;
  x.mutable_cpu_data()[0] = 0;
  x.mutable_cpu_data()[1] = std::log(3.f);
  LayerParameter param;
  for (const char* type : {"", "SigmoidCrossEntropyLoss", "OwnSwish"}) {
    param.set_type(type);
    SigmoidLayer<float> sigmoid(param);
    sigmoid.SetUp({&x}, {&y});
    sigmoid.Forward({&x}, {&y});
    EXPECT_FLOAT_EQ(y.cpu_data()[1], 0.75f) << type;
    OwnSwish swish(param);
    swish.SetUp({&x}, {&y});
    swish.Forward({&x}, {&y});
    EXPECT_FLOAT_EQ(y.cpu_data()[1], 0.75f * std::log(3.f)) << type;
  }
}

TEST(HardSwishValues, IsZeroBelowMinusThreeAndTheInputAboveThree) {
  Example example("type: 'HardSwish'");
  example.Bottom({4}, {-4, -1, 0, 5}).SetUp();
  ExpectFloats(example.Forward(), {0, -1 / 3.f, 0, 5});
  ExpectFloats(example.Backward({1, 1, 1, 1}), {0, 1 / 6.f, 0.5, 1});
}

TEST(GeluValues, WeighsByTheNormalDistribution) {
  Example example("type: 'GELU'");
  example.Bottom({3}, {0, 1, -1}).SetUp();
  ExpectFloats(example.Forward(), {0, 0.8413447461f, -0.1586552539f});
  ExpectFloats(example.Backward({1, 1, 1}), {0.5, 1.0833154706f, -0.0833154706f});
}

TEST(SwishValues, WeighsByItsSigmoid) {
  Example example("type: 'Swish' swish_param { beta: 2 }");
  const float x = std::log(3.f) / 2;
  example.Bottom({2}, {0, x}).SetUp();
  ExpectFloats(example.Forward(), {0, 0.75f * x});
  ExpectFloats(example.Backward({1, 1}), {0.5, 0.75f + 2 * x * 0.75f * 0.25f});
}

}  // namespace
}  // namespace caffe
