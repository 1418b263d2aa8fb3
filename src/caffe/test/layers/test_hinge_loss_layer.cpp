#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kHingeLossCases = {
    LayerCase("L1", "type: 'HingeLoss'").Bottom({kOddN, 5}, Fill::DISTINCT).Labels({kOddN}, 5),
    LayerCase("L2", "type: 'HingeLoss' hinge_loss_param { norm: L2 }")
        .Bottom({kOddN, 2, kOddC}, Fill::DISTINCT)
        .Labels({kOddN, 1}, 2),
};
INSTANTIATE_TEST_SUITE_P(HingeLoss, LayerCases, ::testing::ValuesIn(kHingeLossCases), CaseName());

const std::vector<BadLayerCase> kHingeLossBadCases = {
    BadLayerCase("Labels", "type: 'HingeLoss'")
        .Bottom({2, 3})
        .Labels({2, 3}, 3)
        .Says("one label for each item of the scores of shape 2 3 "),
    BadLayerCase("Label", "type: 'HingeLoss'")
        .Bottom({1, 3})
        .Labels({1}, 3, {3})
        .InForward()
        .Says("label number 0 is 3: with 3 classes valid are 0 to 2"),
};
INSTANTIATE_TEST_SUITE_P(HingeLoss, BadLayerCases, ::testing::ValuesIn(kHingeLossBadCases),
                         CaseName());

TEST(HingeLossValues, CountsWhatIsWithinTheMargin) {
  const Floats scores = {2, -3, 0.5, -0.5, 0.25, 0};
  Example l1("type: 'HingeLoss'");
  l1.Bottom({2, 3}, scores).Bottom({2}, {0, 1}).SetUp();
  EXPECT_FLOAT_EQ(l1.loss(), (1.5f + 0.5f + 0.75f + 1) / 2);
  EXPECT_EQ(l1.Backward({2}), (Floats{0, 0, 1, 1, -1, 1}));
  Example l2("type: 'HingeLoss' hinge_loss_param { norm: L2 }");
  l2.Bottom({2, 3}, scores).Bottom({2}, {0, 1}).SetUp();
  EXPECT_FLOAT_EQ(l2.loss(), (2.25f + 0.25f + 0.5625f + 1) / 2);
  EXPECT_EQ(l2.Backward({1}), (Floats{0, 0, 1.5, 0.5, -0.75, 1}));
}

TEST(HingeLossValues, ANetThatDivergesShowsIt) {
  Example loss("type: 'HingeLoss'");
  loss.Bottom({1, 2}, {NAN, -3}).Bottom({1}, {0}).SetUp();
  EXPECT_TRUE(std::isnan(loss.loss()));
}

}  // namespace
}  // namespace caffe
