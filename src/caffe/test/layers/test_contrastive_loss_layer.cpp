#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const Bottom kSimilar = {{kOddN}, Fill::LABELS, false, 2};

// The 1e-4 that Caffe adds to the distance must be small compared with it: distances are about 50.
const std::vector<LayerCase> kCases = {
    {"Plain",
     "type: 'ContrastiveLoss' contrastive_loss_param { margin: 60 }",
     {{{4, 3}, Fill::GAUSSIAN, true, 0, {30, 10, -20, 1, 2, 3, 40, 50, 60, 5, -8, 12}},
      {{4, 3}, Fill::GAUSSIAN, true, 0, {-10, 5, 0, 4, 4, 4, 10, 10, 10, 55, 1, 10}},
      {{4}, Fill::LABELS, false, 2, {0, 1, 0, 0}}}},
    {"Similar",
     "type: 'ContrastiveLoss'",
     {{{3, kOddC}}, {{3, kOddC, 1, 1}}, {{3}, Fill::LABELS, false, 2, {1, 2, 1}}}},
    {"Legacy",
     "type: 'ContrastiveLoss' contrastive_loss_param { margin: 9.0625 legacy_version: true }",
     {{{kOddN, 2}, Fill::LABELS, true, 4}, {{kOddN, 2}, Fill::LABELS, true, 4}, kSimilar}},
};
INSTANTIATE_TEST_SUITE_P(ContrastiveLoss, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Values", "type: 'ContrastiveLoss'", {{{2, 3}}, {{2, 2}}, {{2}}}, "values per item"},
    {"Similarities", "type: 'ContrastiveLoss'", {{{2, 3}}, {{2, 3}}, {{2, 3}}}, "one label"},
};
INSTANTIATE_TEST_SUITE_P(ContrastiveLoss, BadLayerCases, ::testing::ValuesIn(kBadCases),
                         CaseName());

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
