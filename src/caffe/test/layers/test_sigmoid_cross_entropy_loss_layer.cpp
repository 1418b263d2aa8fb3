#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<Bottom> kBottoms = {Bottom({kOddN, 3, kOddH}),
                                      Bottom({kOddN, 3, kOddH}, Fill::POSITIVE).WithoutGradient()};
const std::vector<Bottom> kLabelled = {Bottom({kOddN, 6}),
                                       Bottom({kOddN, 2, 3}).Labels(3).WithoutGradient()};

LayerCase Normalized(const std::string& mode) {
  return LayerCase(mode,
                   "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 2 normalization: " +
                       mode + "}")
      .Bottoms(kLabelled);
}

const std::vector<LayerCase> kSigmoidCrossEntropyLossCases = {
    LayerCase("Plain", "type: 'SigmoidCrossEntropyLoss'").Bottoms(kBottoms),
    LayerCase("Ignored", "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 2 }")
        .Bottoms(kLabelled),
    LayerCase("OldNormalize",
              "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 1 normalize: true }")
        .Bottoms(kLabelled),
    Normalized("FULL"),
    Normalized("VALID"),
    Normalized("BATCH_SIZE"),
    Normalized("NONE"),
};
INSTANTIATE_TEST_SUITE_P(SigmoidCrossEntropyLoss, LayerCases,
                         ::testing::ValuesIn(kSigmoidCrossEntropyLossCases), CaseName());

const std::vector<BadLayerCase> kSigmoidCrossEntropyLossBadCases = {
    BadLayerCase("Counts", "type: 'SigmoidCrossEntropyLoss'")
        .Bottom({2, 3})
        .Bottom({2, 4})
        .Says("values per item"),
    BadLayerCase("Items", "type: 'SigmoidCrossEntropyLoss'")
        .Bottom({2, 3})
        .Bottom({3, 2})
        .Says("number of items"),
};
INSTANTIATE_TEST_SUITE_P(SigmoidCrossEntropyLoss, BadLayerCases,
                         ::testing::ValuesIn(kSigmoidCrossEntropyLossBadCases), CaseName());

TEST(SigmoidCrossEntropyLossValues, IsTheSumPerItem) {
  Example example("type: 'SigmoidCrossEntropyLoss'");
  example.Bottom({1, 2}, {0, std::log(3.f)}).Bottom({1, 2}, {1, 0.5}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), std::log(2.) - 0.5 * std::log(0.75) - 0.5 * std::log(0.25));
  const Floats gradient = example.Backward({2});
  EXPECT_FLOAT_EQ(gradient[0], -1);
  EXPECT_FLOAT_EQ(gradient[1], 0.5);
}

TEST(SigmoidCrossEntropyLossValues, LargeLogitsDoNotOverflow) {
  Example example("type: 'SigmoidCrossEntropyLoss'");
  example.Bottom({1, 2}, {1000, -1000}).Bottom({1, 2}, {0, 0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), 1000);
  EXPECT_EQ(example.Backward({1}), (Floats{1, 0}));
}

TEST(SigmoidCrossEntropyLossValues, IgnoredTargetsCountForNothing) {
  Example example(
      "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: -1 normalization: VALID }");
  example.Bottom({1, 3}, {0, 5, 0}).Bottom({1, 3}, {1, -1, 0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), std::log(2.));
  EXPECT_EQ(example.Backward({1}), (Floats{-0.25, 0, 0.25}));
}

}  // namespace
}  // namespace caffe
