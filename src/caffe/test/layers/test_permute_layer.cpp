#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string Permute(const std::string& order) {
  return "type: 'Permute' permute_param { " + order + " }";
}

const std::vector<LayerCase> kPermuteCases = {
    LayerCase("ChannelsLast", Permute("order: 0 order: 2 order: 3 order: 1"))
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Terms(1),
    LayerCase("ChannelsFirst", Permute("order: 0 order: 3"))
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Terms(1),
    LayerCase("Backwards", Permute("order: 3 order: 2 order: 1 order: 0"))
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Terms(1),
    LayerCase("Large", Permute("order: 1 order: 0")).Bottom({37, 41}).Terms(1),
    LayerCase("FiveAxes", Permute("order: 4 order: 1 order: 3"))
        .Bottom({kOddN, 2, kOddC, kOddH, 3})
        .Terms(1),
    LayerCase("AsItIs", Permute("")).Bottom({kOddN, kOddC, kOddH}).Terms(1),
    LayerCase("RowsStay", Permute("order: 1 order: 0 order: 2")).Bottom({kOddN, kOddC, 7}).Terms(1),
    LayerCase("Transpose", "type: 'Transpose' transpose_param { dim: 2 dim: 0 dim: 1 }")
        .Bottom({kOddN, kOddC, kOddH})
        .Terms(1),
};
INSTANTIATE_TEST_SUITE_P(Permute, LayerCases, ::testing::ValuesIn(kPermuteCases), CaseName());

const std::vector<BadLayerCase> kPermuteBadCases = {
    BadLayerCase("Axis", Permute("order: 2"))
        .Bottom({2, 3})
        .Says("permute_param: order 2 is out of range"),
    BadLayerCase("HugeAxis", Permute("order: 4294967295"))
        .Bottom({2, 3})
        .Says("order 4294967295 is out of range"),
    BadLayerCase("Twice", Permute("order: 1 order: 1"))
        .Bottom({2, 3})
        .Says("permute_param: order 1 is given twice"),
    BadLayerCase("TransposeNegative", "type: 'Transpose' transpose_param { dim: -1 dim: 0 }")
        .Bottom({2, 3})
        .Says("transpose_param: dim -1 is out of range"),
    BadLayerCase("TransposeAxes", "type: 'Transpose' transpose_param { dim: 1 }")
        .Bottom({2, 3})
        .Says("dim is given 1 times: give it once for each axis of a bottom of shape 2 3"),
};
INSTANTIATE_TEST_SUITE_P(Permute, BadLayerCases, ::testing::ValuesIn(kPermuteBadCases), CaseName());

TEST(PermuteValues, AxisOfTheTopIsOrderOfTheBottom) {
  Example example(Permute("order: 2 order: 0"));
  example.Bottom({1, 2, 3}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(example.Backward({1, 4, 2, 5, 3, 6}), (Floats{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace caffe
