// LabelSpecificAdd, LabelSpecificMargin, CombinedMargin.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kAdd = "type: 'LabelSpecificAdd' label_specific_add_param { ";
const std::string kAngle = "type: 'LabelSpecificMargin' label_specific_margin_param { ";
const std::string kCombined = "type: 'CombinedMargin' combined_margin_param { ";

/// Cosines, none of them within a numeric gradient's step of a bend.
const std::vector<double> kCosines = {0.75,  -0.5,  0.25,  0.125, -0.625, 0.5,
                                      -0.75, 0.375, 0.625, 0.25,  -0.25,  0};

LayerCase LabelMarginCase(const std::string& name, const std::string& prototxt) {
  return LayerCase(name, prototxt)
      .Bottom(Bottom({4, 3}).Values(kCosines))
      .Labels({4}, 3)
      .Detour({{2, 3}, {2}});
}

std::vector<LayerCase> LabelMarginCases() {
  std::vector<LayerCase> cases = {
      LabelMarginCase("Add", kAdd + "bias: -0.35 }").InPlace(),
      LabelMarginCase("AddTest", kAdd + "bias: 0.35 transform_test: true } phase: TEST"),
      LabelMarginCase("Angle", kAngle + "margin_base: 20 gamma: 0 }"),
      LabelMarginCase("Combined", kCombined + "m1: 1.25 m2: 0.3 m3: 0.2 }"),
      LabelMarginCase("CombinedDefault", "type: 'CombinedMargin'"),
  };
  return cases;
}
INSTANTIATE_TEST_SUITE_P(LabelMargin, LayerCases, ::testing::ValuesIn(LabelMarginCases()),
                         CaseName());

const std::vector<BadLayerCase> kLabelMarginBadCases = {
    BadLayerCase("Labels", kAdd + "}").Bottom({2, 3}).Bottom({3}).Says("one label for each item"),
    BadLayerCase("Label", kAdd + "bias: -1 }")
        .Bottom({1, 3})
        .Values({1}, {3})
        .InForward()
        .Says("label number 0 is 3: with 3 classes"),
    BadLayerCase("Range", kAdd + "bias_base: -1 bias_min: 0 bias_max: -1 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("bias_min 0 and bias_max -1 are no range"),
    BadLayerCase("Soft", kAngle + "type: SOFT }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("type SOFT is not available"),
    BadLayerCase("Product", kAngle + "num_output: 3 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("num_output"),
    BadLayerCase("Scaled", kAngle + "scale: 30 }").Bottom({2, 3}).Bottom({2}).Says("scale"),
    BadLayerCase("AutoTune", kAngle + "auto_tune: true }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("auto_tune is not available"),
    BadLayerCase("ShapeOfABlob", kAngle + "} blobs { shape { dim: 2 } data: [1, 2] }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("parameter blob 0 has shape 2 .*where 1"),
    BadLayerCase("BlobTooMany",
                 kAngle + "} blobs { shape { dim: 1 } data: 1 } blobs { shape { dim: 1 } data: 1 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("1 parameter blob.*, 2 are given"),
    BadLayerCase("Learned", kAngle + "} param { lr_mult: 1 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("give lr_mult: 0"),
};
INSTANTIATE_TEST_SUITE_P(LabelMargin, BadLayerCases, ::testing::ValuesIn(kLabelMarginBadCases),
                         CaseName());

const Floats kMarginScores = {0.5f, 0.25f, 0.5f, 0.25f, 0.5f, 0.25f};

TEST(LabelSpecificAddValues, LowersTheLabelsScoreWhereThatStaysPositive) {
  Example example(kAdd + "bias: -0.375 }", 2);
  example.Bottom({3, 2}, kMarginScores).Bottom({3}, {0, 1, -1}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0.125f, 0.25f, 0.5f, 0.25f, 0.5f, 0.25f}));
  EXPECT_EQ(example.Forward(1), (Floats{-0.375f}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5, 6}), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(LabelSpecificAddValues, TestsWithoutTheMarginUnlessAskedTo) {
  for (const bool asked : {false, true}) {
    Example example(kAdd + "bias: 1 " + (asked ? "transform_test: true" : "") + " } phase: TEST",
                    2);
    example.Bottom({1, 2}, {3, 4}).Bottom({1}, {1}).SetUp();
    EXPECT_EQ(example.Forward(), (Floats{3, asked ? 5.f : 4.f}));
    EXPECT_EQ(example.Forward(1)[0], asked ? 1 : 0);
  }
}

// -1 + (1 + 0.5 * i)^2 - 1 is 0.25, 2 and 4.25 for i = 1, 2 and 3.
TEST(LabelSpecificAddValues, TheBiasFollowsItsSchedule) {
  Example example(
      kAdd + "bias_base: -1 bias_gamma: 0.5 bias_power: 2 bias_min: 0.5 bias_max: 3 iteration: 1 }",
      2);
  example.Bottom({1, 1}, {10}).Bottom({1}, {0}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{10.5f}));
  EXPECT_EQ(example.Forward(1), (Floats{2}));
  const std::string state = example.layer().SaveState();
  EXPECT_EQ(example.Forward(1), (Floats{3}));
  example.layer().RestoreState(state);
  EXPECT_EQ(example.Forward(1), (Floats{3}));
  example.layer().RestoreState("2");
  EXPECT_EQ(example.Forward(1), (Floats{2}));
}

TEST(LabelSpecificAddValues, TheScheduleHasTheBoundsThatAreGiven) {
  const auto biases = [](const std::string& bounds) {
    Example example(kAdd + "bias_base: -1 bias_gamma: 0.5 " + bounds + " }", 2);
    example.Bottom({1, 1}, {10}).Bottom({1}, {0}).SetUp();
    Floats biases;
    for (int i = 0; i < 4; ++i) biases.push_back(example.Forward(1)[0]);
    return biases;
  };
  EXPECT_EQ(biases(""), (Floats{-1, -0.5, 0, 0.5}));
  EXPECT_EQ(biases("bias_min: -0.75"), (Floats{-0.75, -0.5, 0, 0.5}));
  EXPECT_EQ(biases("bias_max: -0.25"), (Floats{-1, -0.5, -0.25, -0.25}));
  EXPECT_EQ(biases("bias_min: 0 bias_max: 0"), (Floats{0, 0, 0, 0}));
}

TEST(LabelSpecificMarginValues, AddsToTheAngle) {
  Example example(kAngle + "margin_base: 15 gamma: 0 }", 2);
  const auto cosine = [](double degrees) { return float(std::cos(degrees * M_PI / 180)); };
  example.Bottom({2, 2}, {cosine(40), 0, 0, cosine(100)}).Bottom({2}, {0, 1}).SetUp();
  const Floats y = example.Forward();
  EXPECT_NEAR(y[0], cosine(55), 1e-6);
  EXPECT_EQ(y[1], 0);
  EXPECT_NEAR(y[3], cosine(115), 1e-6);
  EXPECT_EQ(example.Forward(1)[0], 15);
  // d cos(t + m) / d cos(t) = sin(t + m) / sin(t)
  const Floats dx = example.Backward({2, 3, 4, 5});
  EXPECT_NEAR(dx[0], 2 * std::sin(55 * M_PI / 180) / std::sin(40 * M_PI / 180), 1e-5);
  EXPECT_EQ(dx[1], 3);
  EXPECT_NEAR(dx[3], 5 * std::sin(115 * M_PI / 180) / std::sin(100 * M_PI / 180), 1e-5);
}

// One degree more in each pass by default.
TEST(LabelSpecificMarginValues, TheMarginGrowsUpToItsBoundAndIsStored) {
  Example example(kAngle + "margin_base: 3 margin_max: 4.5 }", 2);
  example.Bottom({1, 1}, {1}).Bottom({1}, {0}).SetUp();
  EXPECT_EQ(example.Forward(1)[0], 3);
  EXPECT_EQ(example.Forward(1)[0], 4);
  EXPECT_EQ(example.Forward(1)[0], 4.5);
  EXPECT_EQ(example.layer().blobs()[0]->cpu_data()[0], 4.5);
}

TEST(LabelSpecificMarginValues, TheTestPhaseTakesTheStoredMargin) {
  Example example(kAngle + "margin_base: 3 margin_on_test: true } phase: TEST", 2);
  example.Bottom({1, 1}, {0}).Bottom({1}, {0}).SetUp();
  example.Parameter(0, {30});
  EXPECT_FLOAT_EQ(example.Forward()[0], -0.5);
  EXPECT_EQ(example.Forward(1)[0], 30);
}

TEST(CombinedMarginValues, IsTheCosineOfAnotherAngle) {
  Example example(kCombined + "m1: 2 m2: 0.5 m3: 0.25 }");
  example.Bottom({1, 2}, {std::cos(0.75f), 0.5f}).Bottom({1}, {0}).SetUp();
  const Floats y = example.Forward();
  EXPECT_NEAR(y[0], std::cos(2.) - 0.25, 1e-6);
  EXPECT_EQ(y[1], 0.5);
  EXPECT_NEAR(example.Backward({3, 0})[0], 3 * 2 * std::sin(2.) / std::sin(0.75), 1e-5);
}

TEST(CombinedMarginValues, AngleZeroIsFinite) {
  Example example(kCombined + "m2: 0.5 }");
  example.Bottom({2, 1}, {1, -1.00001f}).Bottom({2}, {0, 0}).SetUp();
  const Floats y = example.Forward();
  EXPECT_NEAR(y[0], std::cos(0.5), 1e-6);
  EXPECT_NEAR(y[1], std::cos(M_PI + 0.5), 1e-6);
  for (const float d : example.Backward({1, 1})) EXPECT_TRUE(std::isfinite(d));
}

}  // namespace
}  // namespace caffe
