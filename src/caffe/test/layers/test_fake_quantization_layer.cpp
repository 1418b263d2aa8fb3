#include "caffe/layers/elementwise/fake_quantization_layer.hpp"

#include <cmath>
#include <limits>

#include "caffe/net/integer_grids.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

using kernels::AffineGrid;
using kernels::IntegerGrid;
using kernels::SymmetricGrid;

TEST(IntegerGrid, IsNudgedSoThatZeroIsExact) {
  // Steps of 4 / 255; 1 / step = 63.75 becomes 64.
  const IntegerGrid grid = AffineGrid(-1, 3, 0, 255);
  EXPECT_FLOAT_EQ(grid.scale, 4.f / 255);
  EXPECT_EQ(grid.zero_point, 64);
  EXPECT_FLOAT_EQ(grid.low(), -64 * 4.f / 255);
  EXPECT_FLOAT_EQ(grid.high(), 191 * 4.f / 255);
  EXPECT_EQ(AffineGrid(1, 2, 0, 255).low(), 0) << "0 is part of every range";
  EXPECT_FLOAT_EQ(AffineGrid(1, 2, 0, 255).high(), 2);
  EXPECT_EQ(AffineGrid(-2, -1, 0, 255).zero_point, 255);
  EXPECT_EQ(AffineGrid(-1, 1, 1, 255).zero_point, 128) << "the paper's weights";
  EXPECT_FLOAT_EQ(AffineGrid(-1, 1, 1, 255).scale, 2.f / 254);
}

TEST(IntegerGrid, OfNothingButZeroHasNoSteps) {
  float x[] = {0, 3, -1}, y[3];
  for (const IntegerGrid& grid :
       {AffineGrid(0, 0, 0, 255), SymmetricGrid(0, 127, false), AffineGrid(0, 1e-40, 0, 255)}) {
    EXPECT_EQ(grid.scale, 0);
    kernels::FakeQuantize(3, grid, x, y);
    EXPECT_EQ((Floats{y[0], y[1], y[2]}), (Floats{0, 0, 0}));
  }
}

QuantizedTrainingParameter Options(const std::string& text) {
  QuantizedTrainingParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

TEST(IntegerGrid, FollowsFromSchemeAndBits) {
  const auto blob = [](const std::string& text, double minimum, double maximum) {
    return BlobGrid(Options(text), minimum, maximum);
  };
  EXPECT_EQ(blob("", -1, 1).most, 255);
  EXPECT_EQ(blob("activation_bits: 4", -1, 1).most, 15);
  EXPECT_EQ(blob("scheme: PAPER activation_bits: 2", 0, 3).scale, 1);
  EXPECT_FLOAT_EQ(blob("scheme: SYMMETRIC", -2, 1).scale, 2.f / 127);
  EXPECT_EQ(blob("scheme: SYMMETRIC", -2, 1).least, -127);
  EXPECT_EQ(blob("scheme: SYMMETRIC", -2, 1).zero_point, 0);
  EXPECT_FLOAT_EQ(blob("scheme: SYMMETRIC", 0, 1).scale, 1.f / 255) << "never negative";
  EXPECT_EQ(blob("scheme: SYMMETRIC activation_bits: 3", 0, 1).most, 7);
  EXPECT_EQ(blob("scheme: SYMMETRIC activation_bits: 3", -1, 1).most, 3);

  for (const char* scheme : {"scheme: AFFINE ", "scheme: SYMMETRIC "}) {
    const IntegerGrid weights = WeightGrid(Options(scheme), 0, 2);
    EXPECT_EQ(weights.least, -127);
    EXPECT_EQ(weights.zero_point, 0);
    EXPECT_FLOAT_EQ(weights.scale, 2.f / 127);
    EXPECT_EQ(WeightGrid(Options(std::string(scheme) + "weight_bits: 2"), -1, 1).most, 1);
  }
  const IntegerGrid paper = WeightGrid(Options("scheme: PAPER weight_bits: 4"), -1, 1);
  EXPECT_EQ(paper.least, 1);
  EXPECT_EQ(paper.most, 15);
  EXPECT_EQ(paper.zero_point, 8);
}

TEST(FakeQuantize, RoundsHalvesToEvenAndSaturates) {
  const IntegerGrid grid = AffineGrid(-4, 11, 0, 15);  // steps of 1
  ASSERT_EQ(grid.scale, 1);
  ASSERT_EQ(grid.zero_point, 4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats x = {0.5, 1.5, -0.5, -1.5, 2.25, -4.4f, -9, 11.6f, infinity, -infinity, nan};
  Floats y(x.size());
  kernels::FakeQuantize(x.size(), grid, x.data(), y.data());
  EXPECT_TRUE(std::isnan(y.back()));
  y.pop_back();
  EXPECT_EQ(y, (Floats{0, 2, 0, -2, 2, -4, -4, 11, 11, -4}));
}

// What the fused loop does, one step at a time in double.
TEST(FakeQuantize, IsTheDefinitionInEveryType) {
  std::srand(TestSeed());
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", TestSeed()));
  const IntegerGrid grid = AffineGrid(-0.7, 1.9, 0, 255);
  const size_t n = 40001;
  std::vector<double> x(n), y(n);
  Floats x_float(n), y_float(n);
  std::vector<float16> x_half(n), y_half(n);
  for (size_t i = 0; i < n; ++i) {
    x_half[i] = float16(static_cast<float>(std::rand() % 4001) / 1000 - 2);
    x[i] = x_float[i] = static_cast<float>(x_half[i]);
  }
  kernels::FakeQuantize(n, grid, x.data(), y.data());
  kernels::FakeQuantize(n, grid, x_float.data(), y_float.data());
  kernels::FakeQuantize(n, grid, x_half.data(), y_half.data());
  for (size_t i = 0; i < n; ++i) {
    const double q = std::nearbyint(x[i] / double(grid.scale)) + grid.zero_point;
    const double expected = grid.scale * (std::min(255., std::max(0., q)) - grid.zero_point);
    ASSERT_NEAR(y[i], expected, 1e-12) << x[i];
    // In float a number next to the middle between two may go the other way.
    ASSERT_NEAR(y_float[i], expected,
                std::abs(x[i] - expected) > 0.4999 * grid.scale ? 1.01 * grid.scale : 1e-6)
        << x[i];
    ASSERT_EQ(y_half[i], float16(y_float[i])) << x[i];
  }
}

TEST(RangeWithZero, LooksAtAllValues) {
  Floats x(70001, 1.f);
  float least = 9, most = 9;
  EXPECT_TRUE(kernels::RangeWithZero(x.size(), x.data(), &least, &most));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(most, 1);
  x[69999] = -3;
  EXPECT_TRUE(kernels::RangeWithZero(x.size(), x.data(), &least, &most));
  EXPECT_EQ(least, -3);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(kernels::RangeWithZero(x.size(), x.data(), &least, &most));
  EXPECT_FALSE(kernels::RangeWithZero(1, &x[3], &least, &most));
}

// Gradients of a staircase are no numeric ones: these are the stages before it, and values that no
// type rounds the other way.
const char kBlobs[] =
    "type: 'FakeQuantization' blobs { shape { dim: 2 } data: 0 data: 0 } blobs { shape { dim: 2 } "
    "data: 0 data: ";
const std::vector<LayerCase> kFakeQuantizationCases = {
    LayerCase("Copies", std::string(kBlobs) + "0 }")
        .Bottom({kOddN, kOddC, kOddH, kOddW}, Fill::DISTINCT),
    LayerCase("Observes", std::string(kBlobs) + "1 }").Bottom({kOddN, 3, kOddH}, Fill::DISTINCT),
    LayerCase("Rounds",
              "type: 'FakeQuantization' fake_quantization_param { minimum: -1 maximum: 2 "
              "quantization { activation_bits: 2 } }")
        .Values({1, 3, 2, 2}, {-3, -1.25, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 1.75, 2.25, 3, 9})
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(FakeQuantization, LayerCases, ::testing::ValuesIn(kFakeQuantizationCases),
                         CaseName());

const std::vector<BadLayerCase> kFakeQuantizationBadCases = {
    BadLayerCase(
        "Bits",
        "type: 'FakeQuantization' fake_quantization_param { quantization { activation_bits: 9 } }")
        .Bottom({2})
        .Says("activation_bits must lie from 2 to 8, got 9"),
    BadLayerCase("OneEnd", "type: 'FakeQuantization' fake_quantization_param { minimum: 0 }")
        .Bottom({2})
        .Says("both minimum and maximum"),
    BadLayerCase("NoZero",
                 "type: 'FakeQuantization' fake_quantization_param { minimum: 1 maximum: 2 }")
        .Bottom({2})
        .Says("0 between them, got 1 and 2"),
    BadLayerCase("Infinite",
                 "type: 'FakeQuantization' fake_quantization_param { minimum: 0 maximum: inf }")
        .Bottom({2})
        .Says("must be finite"),
    BadLayerCase("Nan", "type: 'FakeQuantization' fake_quantization_param { blob: 'x' }")
        .Values({2}, {1, NAN})
        .InForward()
        .Says("blob 'x' has infinities or NaNs"),
};
INSTANTIATE_TEST_SUITE_P(FakeQuantization, BadLayerCases,
                         ::testing::ValuesIn(kFakeQuantizationBadCases), CaseName());

using FakeQuantization = FakeQuantizationLayer<float>;

FakeQuantization& LayerOf(Example* example) {
  return dynamic_cast<FakeQuantization&>(example->layer());
}

TEST(FakeQuantizationValues, AStatedRangeIsNotObserved) {
  Example example(
      "type: 'FakeQuantization' fake_quantization_param { minimum: -1 maximum: 254 "
      "quantization { activation_bits: 2 } }");
  example.Bottom({7}, {-9, -1, -0.6f, 0.4f, 1.4f, 254, 254.5f}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, -1, -1, 0, 1, 254, 254})) << "in 8 bits";
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5, 6, 7}), (Floats{0, 2, 3, 4, 5, 6, 0}))
      << "straight through, but for what lies outside";
  EXPECT_EQ(example.layer().blobs()[0]->cpu_data()[1], 254);
}

TEST(FakeQuantizationValues, TheRangeIsAMeanOfAllBatchesThatForgetsTheOldOnes) {
  Example example(
      "type: 'FakeQuantization' fake_quantization_param { quantization { ema_decay: 0.5 } }");
  example.Bottom({2}, {-1, 3}).SetUp();
  const auto range = [&] {
    const float* values = example.layer().blobs()[0]->cpu_data();
    return Floats{values[0], values[1]};
  };
  example.Forward();
  EXPECT_EQ(range(), (Floats{-1, 3})) << "the first batch alone";
  example.Change(0, {1, 6});  // 0 is its minimum
  example.Forward();          // weights 1/3, 2/3
  EXPECT_FLOAT_EQ(range()[0], -1.f / 3);
  EXPECT_FLOAT_EQ(range()[1], 5);
  example.Change(0, {0, 12});
  example.Forward();  // weights 1/7, 2/7, 4/7
  EXPECT_FLOAT_EQ(range()[0], -1.f / 7);
  EXPECT_FLOAT_EQ(range()[1], (3 + 2 * 6 + 4 * 12) / 7.f);
  EXPECT_EQ(example.layer().blobs()[1]->cpu_data()[0], 3);
}

TEST(FakeQuantizationValues, StagesCopyObserveAndRound) {
  Example example(
      "type: 'FakeQuantization' fake_quantization_param { quantization { activation_bits: 2 } }");
  const Floats x = {0, 1.2f, 3};
  example.Bottom({3}, x).SetUp();
  FakeQuantization& layer = LayerOf(&example);
  EXPECT_EQ(layer.stage(), FakeQuantization::ROUND) << "where no net says anything else";
  double minimum, maximum;
  layer.set_stage(FakeQuantization::COPY);
  EXPECT_EQ(example.Forward(), x);
  EXPECT_FALSE(layer.Range(&minimum, &maximum));
  layer.set_stage(FakeQuantization::OBSERVE);
  EXPECT_EQ(example.Forward(), x);
  EXPECT_EQ(example.Backward({5, 6, 7}), (Floats{5, 6, 7}));
  ASSERT_TRUE(layer.Range(&minimum, &maximum));
  EXPECT_EQ(maximum, 3);
  layer.set_stage(FakeQuantization::ROUND);
  EXPECT_EQ(example.Forward(), (Floats{0, 1, 3}));
}

TEST(FakeQuantizationValues, TheTestPhaseUsesTheRangeAsItIs) {
  Example example(
      "type: 'FakeQuantization' phase: TEST fake_quantization_param { "
      "quantization { activation_bits: 2 } }");
  example.Bottom({3}, {0, 1.2f, 30}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 1.2f, 30})) << "there is none yet";
  example.Parameter(0, {0, 3}).Parameter(1, {1, FakeQuantization::ROUND});
  EXPECT_EQ(example.Forward(), (Floats{0, 1, 3}));
  EXPECT_EQ(example.layer().blobs()[1]->cpu_data()[0], 1);
}

TEST(FakeQuantizationValues, AGroupRoundsToTheRangeOfAll) {
  const char kLayer[] =
      "type: 'FakeQuantization' phase: TEST fake_quantization_param { "
      "quantization { activation_bits: 2 } }";
  Example a(kLayer), b(kLayer);
  a.Bottom({1}, {1.2f}).SetUp().Parameter(0, {0, 1.5f}).Parameter(1, {1, 2});
  b.Bottom({1}, {-0.6f}).SetUp().Parameter(0, {-1, 2}).Parameter(1, {1, 2});
  EXPECT_EQ(a.Forward(), Floats{1});  // steps of 0.5
  LayerOf(&a).set_group({&LayerOf(&a), &LayerOf(&b)});
  a.Change(0, {1.4f});
  EXPECT_EQ(a.Forward(), Floats{1}) << "steps of 1";
  b.Parameter(1, {0, 2});
  EXPECT_EQ(a.Forward(), Floats{1.5f}) << "the other one has none yet";
}

}  // namespace
}  // namespace caffe
