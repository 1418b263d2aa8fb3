#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kReverseCases = {
    LayerCase("Time", "type: 'Reverse'").Bottom({kOddN, kOddC, kOddH}).Terms(1),
    LayerCase("Middle", "type: 'Reverse' reverse_param { axis: 1 }")
        .Bottom({kOddN, kOddC, kOddH})
        .Terms(1),
    LayerCase("Last", "type: 'Reverse' reverse_param { axis: -1 }")
        .Bottom({kOddN, kOddC, kOddH})
        .Terms(1),
    LayerCase("Flip", "type: 'Flip'").Bottom({kOddN, kOddC, kOddH, kOddW}).Terms(1),
    LayerCase("FlipBoth", "type: 'Flip' flip_param { flip_height: true }")
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Terms(1),
    LayerCase("FlipNone", "type: 'Flip' flip_param { flip_width: false }")
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Terms(1),
};
INSTANTIATE_TEST_SUITE_P(Reverse, LayerCases, ::testing::ValuesIn(kReverseCases), CaseName());

const std::vector<BadLayerCase> kReverseBadCases = {
    BadLayerCase("Axis", "type: 'Reverse' reverse_param { axis: 2 }")
        .Bottom({2, 3})
        .Says("reverse_param: axis 2 is out of range"),
    BadLayerCase("Flip", "type: 'Flip'").Bottom({2, 3, 4}).Says("Flip takes a bottom of 4 axes"),
};
INSTANTIATE_TEST_SUITE_P(Reverse, BadLayerCases, ::testing::ValuesIn(kReverseBadCases), CaseName());

TEST(ReverseValues, TheLastComesFirst) {
  Example example("type: 'Reverse'");
  example.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{5, 6, 3, 4, 1, 2}));
  EXPECT_EQ(example.Backward({5, 6, 3, 4, 1, 2}), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(FlipValues, MirrorsRows) {
  Example width("type: 'Flip'");
  EXPECT_EQ(width.Bottom({1, 1, 2, 2}, {1, 2, 3, 4}).SetUp().Forward(), (Floats{2, 1, 4, 3}));
  Example height("type: 'Flip' flip_param { flip_width: false flip_height: true }");
  EXPECT_EQ(height.Bottom({1, 1, 2, 2}, {1, 2, 3, 4}).SetUp().Forward(), (Floats{3, 4, 1, 2}));
}

}  // namespace
}  // namespace caffe
