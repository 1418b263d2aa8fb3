#include <cmath>
#include <limits>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kTripletLossCases = {
    LayerCase("Features", "type: 'TripletLoss'")
        .Bottom({kOddN, 5})
        .Bottom({kOddN, 5})
        .Bottom({kOddN, 5}),
    LayerCase("Maps", "type: 'TripletLoss' triplet_loss_param { margin: 4 }")
        .Bottom({3, kOddC, 2, 1})
        .Bottom({3, kOddC, 2, 1})
        .Bottom({3, kOddC, 2, 1}),
};
INSTANTIATE_TEST_SUITE_P(TripletLoss, LayerCases, ::testing::ValuesIn(kTripletLossCases),
                         CaseName());

const std::vector<BadLayerCase> kTripletLossBadCases = {
    BadLayerCase("Shapes", "type: 'TripletLoss'")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Bottom({2, 4})
        .Says("anchors, positives and negatives of one shape: they are .*2 4"),
    BadLayerCase("Margin", "type: 'TripletLoss' triplet_loss_param { margin: -1 }")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Says("margin must not be negative, got -1"),
};
INSTANTIATE_TEST_SUITE_P(TripletLoss, BadLayerCases, ::testing::ValuesIn(kTripletLossBadCases),
                         CaseName());

// Triplet 0: 1 - 4 + 2 < 0; triplet 1: 4 - 1 + 2 = 5.
TEST(TripletLossValues, CountsTripletsWithinTheMargin) {
  Example example("type: 'TripletLoss' triplet_loss_param { margin: 2 }");
  example.Bottom({2, 2}, {0, 0, 0, 1}).Bottom({2, 2}, {1, 0, 2, 1}).Bottom({2, 2}, {0, 2, 0, 0});
  example.SetUp();
  EXPECT_EQ(example.loss(), 5 / 4.f);
  EXPECT_EQ(example.Backward({4}, 0), (Floats{0, 0, 2 * (0 - 2), 2 * (0 - 1)}));
  EXPECT_EQ(example.Backward({4}, 1), (Floats{0, 0, 2 * (2 - 0), 2 * (1 - 1)}));
  EXPECT_EQ(example.Backward({4}, 2), (Floats{0, 0, 2 * (0 - 0), 2 * (1 - 0)}));
}

// Triplet 0 is sound: 1 - 0 + 1.
TEST(TripletLossValues, NaNShowsInTheLossAndItsTripletsGradients) {
  for (int broken = 0; broken < 3; ++broken) {
    Floats features[] = {{0, 0}, {1, 0}, {0, 0}};
    features[broken][1] = std::numeric_limits<float>::quiet_NaN();
    Example example("type: 'TripletLoss'");
    for (const Floats& values : features) example.Bottom({2, 1}, values);
    example.SetUp();
    EXPECT_TRUE(std::isnan(example.loss())) << broken;
    const float wanted[] = {0 - 1, 1 - 0, 0 - 0};
    for (int b = 0; b < 3; ++b) {
      const Floats gradient = example.Backward({2}, b);
      EXPECT_EQ(gradient[0], wanted[b]);
      EXPECT_TRUE(std::isnan(gradient[1])) << broken << ", " << b;
    }
  }
}

}  // namespace
}  // namespace caffe
