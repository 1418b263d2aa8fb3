#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string Permute(const std::string& order) {
  return "type: 'Permute' permute_param { " + order + " }";
}

const std::vector<LayerCase> kCases = {
    {"ChannelsLast",
     Permute("order: 0 order: 2 order: 3 order: 1"),
     {{{kOddN, kOddC, kOddH, kOddW}}},
     1,
     false,
     true,
     1,
     1},
    {"ChannelsFirst",
     Permute("order: 0 order: 3"),
     {{{kOddN, kOddC, kOddH, kOddW}}},
     1,
     false,
     true,
     1,
     1},
    {"Backwards",
     Permute("order: 3 order: 2 order: 1 order: 0"),
     {{{kOddN, kOddC, kOddH, kOddW}}},
     1,
     false,
     true,
     1,
     1},
    {"Large", Permute("order: 1 order: 0"), {{{37, 41}}}, 1, false, true, 1, 1},
    {"FiveAxes",
     Permute("order: 4 order: 1 order: 3"),
     {{{kOddN, 2, kOddC, kOddH, 3}}},
     1,
     false,
     true,
     1,
     1},
    {"AsItIs", Permute(""), {{{kOddN, kOddC, kOddH}}}, 1, false, true, 1, 1},
    {"RowsStay",
     Permute("order: 1 order: 0 order: 2"),
     {{{kOddN, kOddC, 7}}},
     1,
     false,
     true,
     1,
     1},
    {"Transpose",
     "type: 'Transpose' transpose_param { dim: 2 dim: 0 dim: 1 }",
     {{{kOddN, kOddC, kOddH}}},
     1,
     false,
     true,
     1,
     1},
};
INSTANTIATE_TEST_SUITE_P(Permute, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Axis", Permute("order: 2"), {{{2, 3}}}, "permute_param: order 2 is out of range"},
    {"HugeAxis", Permute("order: 4294967295"), {{{2, 3}}}, "order 4294967295 is out of range"},
    {"Twice", Permute("order: 1 order: 1"), {{{2, 3}}}, "permute_param: order 1 is given twice"},
    {"TransposeNegative",
     "type: 'Transpose' transpose_param { dim: -1 dim: 0 }",
     {{{2, 3}}},
     "transpose_param: dim -1 is out of range"},
    {"TransposeAxes",
     "type: 'Transpose' transpose_param { dim: 1 }",
     {{{2, 3}}},
     "dim is given 1 times: give it once for each axis of a bottom of shape 2 3"},
};
INSTANTIATE_TEST_SUITE_P(Permute, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(PermuteValues, AxisOfTheTopIsOrderOfTheBottom) {
  Example example(Permute("order: 2 order: 0"));
  example.Bottom({1, 2, 3}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(example.Backward({1, 4, 2, 5, 3, 6}), (Floats{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace caffe
