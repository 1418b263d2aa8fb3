#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kFocal = "type: 'FocalLoss' focal_loss_param { ";

const std::vector<LayerCase> kCases = {
    {"Default", "type: 'FocalLoss'", {{{6, 5}}, {{6}, Fill::LABELS, false, 5}}},
    {"Pixels",
     kFocal + "gamma: 1.5 alpha: 0.75 } loss_param { normalization: FULL }",
     {{{6, 3, 2, kOddW}}, {{6, 2, kOddW}, Fill::LABELS, false, 3}}},
    {"LastAxis",
     kFocal + "gamma: 1 } softmax_param { axis: -1 }",
     {{{6, 3, 4}}, {{6, 3}, Fill::LABELS, false, 4}}},
    {"OwnAxis", kFocal + "axis: 2 }", {{{6, 3, 4}}, {{6, 3}, Fill::LABELS, false, 4}}},
    {"GammaBelowOne", kFocal + "gamma: 0.5 }", {{{6, 4}}, {{6}, Fill::LABELS, false, 4}}},
    {"GammaZero", kFocal + "gama: 0 }", {{{6, 4}}, {{6}, Fill::LABELS, false, 4}}},
    {"Ignored",
     "type: 'FocalLoss' loss_param { ignore_label: 2 }",
     {{{6, 4, 3}}, {{6, 3}, Fill::LABELS, false, 4}}},
    {"Linear",
     kFocal + "type: LINEAR gamma: 3 beta: 2 }",
     {{{6, 4}}, {{6}, Fill::LABELS, false, 4}}},
};
INSTANTIATE_TEST_SUITE_P(FocalLoss, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Spellings",
     kFocal + "gamma: 1 gama: 2 }",
     {{{2, 3}}, {{2}}},
     "gamma 1 and gama 2 are one field"},
    {"Gamma", kFocal + "gamma: -1 }", {{{2, 3}}, {{2}}}, "gamma must not be negative, got -1"},
    {"LinearGamma",
     kFocal + "type: LINEAR gamma: 0 }",
     {{{2, 3}}, {{2}}},
     "gamma must be positive, got 0"},
    {"Labels", "type: 'FocalLoss'", {{{2, 3, 4}}, {{2, 3}}}, "one label for each of the 8"},
    {"Label",
     "type: 'FocalLoss'",
     {{{1, 3}}, {{1}, Fill::LABELS, false, 0, {3}}},
     "label number 0 is 3",
     1,
     true},
};
INSTANTIATE_TEST_SUITE_P(FocalLoss, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

// Probabilities 1/4, 3/4 and 1/2, 1/2.
const Floats kLogits = {0, std::log(3.f), 0, 0};

TEST(FocalLossValues, GivesLessWeightToWhatIsRight) {
  Example example(kFocal + "gamma: 2 alpha: 0.5 }", 2);
  example.Bottom({2, 2}, kLogits).Bottom({2}, {1, 0}).SetUp();
  const double first = 0.0625 * -std::log(0.75), second = 0.25 * -std::log(0.5);
  EXPECT_FLOAT_EQ(example.Forward()[0], 0.5 * (first + second) / 2);
  const Floats p = example.Forward(1);
  EXPECT_FLOAT_EQ(p[1], 0.75);
  EXPECT_EQ(p[2], 0.5);
  // d / dx_t of -(1 - p)^2 log p: (1 - p) (2 p log p - (1 - p)) (1 - p)
  const Floats dx = example.Backward({2});
  const double slope = 0.25 * 0.25 * (2 * 0.75 * std::log(0.75) - 0.25);
  EXPECT_FLOAT_EQ(dx[1], 2 * 0.5 / 2 * slope);
  EXPECT_FLOAT_EQ(dx[0], -dx[1]);
}

TEST(FocalLossValues, GammaZeroIsSoftmaxWithLoss) {
  Example focal(kFocal + "gamma: 0 alpha: 1 }"), softmax("type: 'SoftmaxWithLoss'");
  for (Example* example : {&focal, &softmax}) {
    example->Bottom({2, 2}, kLogits).Bottom({2}, {1, 0}).SetUp();
  }
  EXPECT_FLOAT_EQ(focal.Forward()[0], softmax.Forward()[0]);
  EXPECT_FLOAT_EQ(focal.Backward({1})[2], softmax.Backward({1})[2]);
}

// softmax(2 x + 1): 1/10, 9/10.
TEST(FocalLossValues, LinearIsSteeperSoftmax) {
  Example example(kFocal + "type: LINEAR gamma: 2 beta: 1 alpha: 3 }");
  example.Bottom({1, 2}, {0, std::log(3.f)}).Bottom({1}, {0}).SetUp();
  EXPECT_FLOAT_EQ(example.Forward()[0], 3 * -std::log(0.1) / 2);
  const Floats dx = example.Backward({1});
  EXPECT_FLOAT_EQ(dx[0], 3 * (0.1 - 1));
  EXPECT_FLOAT_EQ(dx[1], 3 * 0.9);
}

TEST(FocalLossValues, CertaintyIsFinite) {
  for (const char* gamma : {"0", "0.5", "1", "2"}) {
    Example example(kFocal + "gamma: " + gamma + " }");
    example.Bottom({2, 2}, {1000, -1000, 1000, -1000}).Bottom({2}, {0, 1}).SetUp();
    EXPECT_FLOAT_EQ(example.Forward()[0], 0.25 * (0 + 2000) / 2) << gamma;
    EXPECT_EQ(example.Backward({1})[0], 0) << gamma;
    EXPECT_FLOAT_EQ(example.Backward({1})[2], 0.25 / 2) << gamma;
  }
}

}  // namespace
}  // namespace caffe
