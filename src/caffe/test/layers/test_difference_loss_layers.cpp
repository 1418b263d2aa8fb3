// EuclideanLoss, L1Loss, SmoothL1Loss.
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

// Odd multiples of 1/32 less whole numbers: never at a kink of the penalties.
const std::vector<Bottom> kPair = {Bottom({kOddN, kOddC, 3}, Fill::DISTINCT),
                                   Bottom({kOddN, kOddC, 3}).Labels(3)};
const Bottom kLossWeights = Bottom({kOddN, kOddC, 3}, Fill::POSITIVE).WithoutGradient();

const std::vector<LayerCase> kDifferenceLossCases = {
    LayerCase("Euclidean", "type: 'EuclideanLoss'").Bottoms(kPair),
    LayerCase("EuclideanOtherAxes", "type: 'EuclideanLoss'")
        .Bottom({kOddN, 6}, Fill::DISTINCT)
        .Bottom(Bottom({kOddN, 2, 3}).Labels(3)),
    LayerCase("L1", "type: 'L1Loss'").Bottoms(kPair),
    LayerCase("SmoothL1", "type: 'SmoothL1Loss'").Bottoms(kPair),
    LayerCase("SmoothL1Inside", "type: 'SmoothL1Loss'").Bottoms(kPair).Bottom(kLossWeights),
    LayerCase("SmoothL1Outside", "type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 3 }")
        .Bottoms(kPair)
        .Bottom(kLossWeights)
        .Bottom(kLossWeights),
};
INSTANTIATE_TEST_SUITE_P(DifferenceLoss, LayerCases, ::testing::ValuesIn(kDifferenceLossCases),
                         CaseName());

const std::vector<BadLayerCase> kDifferenceLossBadCases = {
    BadLayerCase("EuclideanItems", "type: 'EuclideanLoss'")
        .Bottom({2, 3})
        .Bottom({3, 2})
        .Says("same number of items and of values per item: bottom 0 is 2 3 .*bottom 1 is 3 2"),
    BadLayerCase("L1Values", "type: 'L1Loss'")
        .Bottom({2, 3})
        .Bottom({2, 4})
        .Says("values per item"),
    BadLayerCase("SmoothL1Weights", "type: 'SmoothL1Loss'")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Bottom({2, 1})
        .Says("values per item: bottom 0 is 2 3 .*bottom 2 is 2 1"),
    BadLayerCase("SmoothL1Bottoms", "type: 'SmoothL1Loss'")
        .Bottom({1})
        .Bottom({1})
        .Bottom({1})
        .Bottom({1})
        .Bottom({1})
        .Says("at most 4 bottom"),
    BadLayerCase("SmoothL1Sigma", "type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 0 }")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Says("smooth_l1_loss_param: sigma must be positive, got 0"),
};
INSTANTIATE_TEST_SUITE_P(DifferenceLoss, BadLayerCases,
                         ::testing::ValuesIn(kDifferenceLossBadCases), CaseName());

TEST(EuclideanLossValues, HalvesTheMeanOverItems) {
  Example example("type: 'EuclideanLoss'");
  example.Bottom({2, 2}, {1, 2, 3, 4}).Bottom({2, 2}, {1, 0, 0, 5}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), (4 + 9 + 1) / 4.f);
  EXPECT_EQ(example.Backward({1}, 0), (Floats{0, 1, 1.5, -0.5}));
  EXPECT_EQ(example.Backward({2}, 1), (Floats{0, -2, -3, 1}));
}

TEST(L1LossValues, IsTheMeanOverItems) {
  Example example("type: 'L1Loss'");
  example.Bottom({2, 2}, {1, 2, 3, 4}).Bottom({2, 2}, {1, 0, 0, 5}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), (2 + 3 + 1) / 2.f);
  EXPECT_EQ(example.Backward({1}, 0), (Floats{0, 0.5, 0.5, -0.5}));
}

TEST(SmoothL1LossValues, IsSquareNearZero) {
  Example example("type: 'SmoothL1Loss'");
  example.Bottom({1, 3}, {0.5, 3, -2}).Bottom({1, 3}, {0, 0, 0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), 0.125f + 2.5f + 1.5f);
  EXPECT_EQ(example.Backward({1}), (Floats{0.5, 1, -1}));
}

// Sigma 2: the penalty is 2 d^2 below 1/4, |d| - 1/8 above.
TEST(SmoothL1LossValues, WeighsInsideAndOutside) {
  Example example("type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 2 }");
  example.Bottom({2, 2}, {1, 1, 1, 1}).Bottom({2, 2}, {0.5, 0, 0, 0});
  example.Bottom({2, 2}, {0.25, 2, 0, 1}).Bottom({2, 2}, {8, 1, 5, 0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), (8 * 2 / 64.f + 1.875f) / 2);
  EXPECT_EQ(example.Backward({1}), (Floats{0.5 * 0.25 * 8 / 2, 1, 0, 0}));
}

}  // namespace
}  // namespace caffe
