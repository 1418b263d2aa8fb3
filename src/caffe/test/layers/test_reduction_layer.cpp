#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kReductionCases = {
    LayerCase("Sum", "type: 'Reduction'").Bottom({kOddN, kOddC, kOddH}),
    LayerCase("SumOfRows", "type: 'Reduction' reduction_param { axis: 1 coeff: 2.5 }")
        .Bottom({kOddN, kOddC, kOddH}),
    LayerCase("Mean", "type: 'Reduction' reduction_param { operation: MEAN axis: -1 }")
        .Bottom({kOddN, kOddC, kOddH}),
    LayerCase("MeanCoefficient",
              "type: 'Reduction' reduction_param { operation: MEAN axis: 1 coeff: -3 }")
        .Bottom({kOddN, kOddC, kOddH}),
    LayerCase("AbsoluteSum", "type: 'Reduction' reduction_param { operation: ASUM axis: 1 }")
        .Bottom({kOddN, kOddC, kOddH}, Fill::DISTINCT),
    LayerCase("SumOfSquares",
              "type: 'Reduction' reduction_param { operation: SUMSQ axis: 2 coeff: 0.1 }")
        .Bottom({kOddN, kOddC, kOddH, kOddW}),
};
INSTANTIATE_TEST_SUITE_P(Reduction, LayerCases, ::testing::ValuesIn(kReductionCases), CaseName());

const std::vector<BadLayerCase> kReductionBadCases = {
    BadLayerCase("Axis", "type: 'Reduction' reduction_param { axis: 2 }")
        .Bottom({2, 3})
        .Says("reduction_param: axis 2 is out of range for a bottom of shape 2 3"),
};
INSTANTIATE_TEST_SUITE_P(Reduction, BadLayerCases, ::testing::ValuesIn(kReductionBadCases),
                         CaseName());

Floats Reduce(const std::string& param) {
  Example example("type: 'Reduction' reduction_param { " + param + " }");
  return example.Bottom({2, 3}, {1, -2, 3, 4, 5, -6}).SetUp().Forward();
}

TEST(ReductionValues, OperationsAndAxes) {
  EXPECT_EQ(Reduce(""), (Floats{5}));
  EXPECT_EQ(Reduce("axis: 1"), (Floats{2, 3}));
  EXPECT_EQ(Reduce("axis: 1 operation: ASUM"), (Floats{6, 15}));
  EXPECT_EQ(Reduce("axis: 1 operation: SUMSQ coeff: 2"), (Floats{28, 154}));
  EXPECT_EQ(Reduce("axis: 1 operation: MEAN coeff: 3"), (Floats{2, 3}));
}

TEST(ReductionValues, Gradients) {
  Example squares("type: 'Reduction' reduction_param { operation: SUMSQ coeff: 0.5 axis: 1 }");
  squares.Bottom({2, 2}, {1, -2, 3, 4}).SetUp().Forward();
  EXPECT_EQ(squares.Backward({1, 10}), (Floats{1, -2, 30, 40}));
  Example absolute("type: 'Reduction' reduction_param { operation: ASUM }");
  absolute.Bottom({3}, {1, -2, 0}).SetUp().Forward();
  EXPECT_EQ(absolute.Backward({5}), (Floats{5, -5, 0}));
}

TEST(ReductionValues, MayBeALoss) {
  Example example("type: 'Reduction' loss_weight: 3 reduction_param { operation: MEAN }");
  example.Bottom({4}, {1, 2, 3, 6}).SetUp();
  EXPECT_EQ(example.loss(), 9);
}

}  // namespace
}  // namespace caffe
