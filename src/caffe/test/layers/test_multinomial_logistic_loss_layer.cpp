#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kMultinomialLogisticLossCases = {
    LayerCase("Plain", "type: 'MultinomialLogisticLoss'")
        .Bottom({kOddN, 5}, Fill::POSITIVE)
        .Labels({kOddN}, 5),
};
INSTANTIATE_TEST_SUITE_P(MultinomialLogisticLoss, LayerCases,
                         ::testing::ValuesIn(kMultinomialLogisticLossCases), CaseName());

const std::vector<BadLayerCase> kMultinomialLogisticLossBadCases = {
    BadLayerCase("Labels", "type: 'MultinomialLogisticLoss'")
        .Bottom({2, 3})
        .Labels({3}, 3)
        .Says("one label for each item"),
    BadLayerCase("Label", "type: 'MultinomialLogisticLoss'")
        .Bottom({1, 3})
        .Labels({1}, 3, {-1})
        .InForward()
        .Says("label number 0 is -1"),
};
INSTANTIATE_TEST_SUITE_P(MultinomialLogisticLoss, BadLayerCases,
                         ::testing::ValuesIn(kMultinomialLogisticLossBadCases), CaseName());

TEST(MultinomialLogisticLossValues, IsTheMeanNegativeLogarithm) {
  Example example("type: 'MultinomialLogisticLoss'");
  example.Bottom({2, 2}, {0.25, 0.75, 0.5, 0.5}).Bottom({2}, {0, 1}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), std::log(8.) / 2);
  EXPECT_EQ(example.Backward({1}), (Floats{-2, 0, 0, -1}));
}

TEST(MultinomialLogisticLossValues, AVanishingProbabilityIsNoInfinity) {
  Example example("type: 'MultinomialLogisticLoss'");
  example.Bottom({1, 1}, {0}).Bottom({1}, {0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), 20 * std::log(10.));
}

}  // namespace
}  // namespace caffe
