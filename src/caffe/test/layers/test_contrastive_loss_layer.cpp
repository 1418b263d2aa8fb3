#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const Bottom kSimilar = Bottom({kOddN}).Labels(2).WithoutGradient();

// The 1e-4 that Caffe adds to the distance must be small compared with it: distances are about 50.
const std::vector<LayerCase> kContrastiveLossCases = {
    LayerCase("Plain", "type: 'ContrastiveLoss' contrastive_loss_param { margin: 60 }")
        .Bottom(Bottom({4, 3}).Values({30, 10, -20, 1, 2, 3, 40, 50, 60, 5, -8, 12}))
        .Bottom(Bottom({4, 3}).Values({-10, 5, 0, 4, 4, 4, 10, 10, 10, 55, 1, 10}))
        .Labels({4}, 2, {0, 1, 0, 0}),
    LayerCase("Similar", "type: 'ContrastiveLoss'")
        .Bottom({3, kOddC})
        .Bottom({3, kOddC, 1, 1})
        .Labels({3}, 2, {1, 2, 1}),
    LayerCase(
        "Legacy",
        "type: 'ContrastiveLoss' contrastive_loss_param { margin: 9.0625 legacy_version: true }")
        .Bottom(Bottom({kOddN, 2}).Labels(4))
        .Bottom(Bottom({kOddN, 2}).Labels(4))
        .Bottom(kSimilar),
};
INSTANTIATE_TEST_SUITE_P(ContrastiveLoss, LayerCases, ::testing::ValuesIn(kContrastiveLossCases),
                         CaseName());

const std::vector<BadLayerCase> kContrastiveLossBadCases = {
    BadLayerCase("Values", "type: 'ContrastiveLoss'")
        .Bottom({2, 3})
        .Bottom({2, 2})
        .Bottom({2})
        .Says("values per item"),
    BadLayerCase("Similarities", "type: 'ContrastiveLoss'")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Says("one label"),
};
INSTANTIATE_TEST_SUITE_P(ContrastiveLoss, BadLayerCases,
                         ::testing::ValuesIn(kContrastiveLossBadCases), CaseName());

TEST(ContrastiveLossValues, PullsAndPushes) {
  Example example("type: 'ContrastiveLoss' contrastive_loss_param { margin: 6 }");
  example.Bottom({3, 2}, {1, 2, 3, 4, 10, 10}).Bottom({3, 2}, {0, 0, 0, 0, 0, 0});
  example.Bottom({3}, {1, 0, 0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), (5 + 1) / 6.f);
  const Floats gradient = example.Backward({3});
  EXPECT_FLOAT_EQ(gradient[0], 1);
  EXPECT_FLOAT_EQ(gradient[1], 2);
  EXPECT_FLOAT_EQ(gradient[2], -3 / 5.0001f);
  EXPECT_FLOAT_EQ(gradient[3], -4 / 5.0001f);
  EXPECT_EQ(gradient[4], 0);
  EXPECT_FLOAT_EQ(example.Backward({3}, 1)[2], 3 / 5.0001f);
}

TEST(ContrastiveLossValues, TheLegacyVersionSquaresTheDistance) {
  Example example(
      "type: 'ContrastiveLoss' contrastive_loss_param { margin: 6 legacy_version: true }");
  example.Bottom({2, 1}, {2, 3}).Bottom({2, 1}, {0, 0}).Bottom({2}, {0, 0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), 2 / 4.f);
  EXPECT_EQ(example.Backward({2}), (Floats{-2, 0}));
}

}  // namespace
}  // namespace caffe
