#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kFocal = "type: 'FocalLoss' focal_loss_param { ";

const std::vector<LayerCase> kFocalLossCases = {
    LayerCase("Default", "type: 'FocalLoss'").Bottom({6, 5}).Labels({6}, 5),
    LayerCase("Pixels", kFocal + "gamma: 1.5 alpha: 0.75 } loss_param { normalization: FULL }")
        .Bottom({6, 3, 2, kOddW})
        .Labels({6, 2, kOddW}, 3),
    LayerCase("LastAxis", kFocal + "gamma: 1 } softmax_param { axis: -1 }")
        .Bottom({6, 3, 4})
        .Labels({6, 3}, 4),
    LayerCase("OwnAxis", kFocal + "axis: 2 }").Bottom({6, 3, 4}).Labels({6, 3}, 4),
    LayerCase("GammaBelowOne", kFocal + "gamma: 0.5 }").Bottom({6, 4}).Labels({6}, 4),
    LayerCase("GammaZero", kFocal + "gama: 0 }").Bottom({6, 4}).Labels({6}, 4),
    LayerCase("Ignored", "type: 'FocalLoss' loss_param { ignore_label: 2 }")
        .Bottom({6, 4, 3})
        .Labels({6, 3}, 4),
    LayerCase("Linear", kFocal + "type: LINEAR gamma: 3 beta: 2 }").Bottom({6, 4}).Labels({6}, 4),
};
INSTANTIATE_TEST_SUITE_P(FocalLoss, LayerCases, ::testing::ValuesIn(kFocalLossCases), CaseName());

const std::vector<BadLayerCase> kFocalLossBadCases = {
    BadLayerCase("Spellings", kFocal + "gamma: 1 gama: 2 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("gamma 1 and gama 2 are one field"),
    BadLayerCase("Gamma", kFocal + "gamma: -1 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("gamma must not be negative, got -1"),
    BadLayerCase("LinearGamma", kFocal + "type: LINEAR gamma: 0 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("gamma must be positive, got 0"),
    BadLayerCase("Labels", "type: 'FocalLoss'")
        .Bottom({2, 3, 4})
        .Bottom({2, 3})
        .Says("one label for each of the 8"),
    BadLayerCase("Label", "type: 'FocalLoss'")
        .Bottom({1, 3})
        .Values({1}, {3})
        .InForward()
        .Says("label number 0 is 3"),
};
INSTANTIATE_TEST_SUITE_P(FocalLoss, BadLayerCases, ::testing::ValuesIn(kFocalLossBadCases),
                         CaseName());

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
