#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Copies",
     "type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 dim: 2 } }",
     {{{kOddN, kOddC, 4}}},
     1,
     false,
     true,
     1,
     1},
    {"FlattensAll",
     "type: 'Reshape' reshape_param { shape { dim: -1 } }",
     {{{kOddN, kOddC, kOddH}}},
     1,
     false,
     true,
     1,
     1},
    {"Middle",
     "type: 'Reshape' reshape_param { axis: 1 num_axes: 1 shape { dim: 2 dim: -1 } }",
     {{{kOddN, 6, kOddH}}},
     1,
     false,
     true,
     1,
     1},
    {"Inserts",
     "type: 'Reshape' reshape_param { axis: 1 num_axes: 0 shape { dim: 1 dim: 1 } }",
     {{{kOddN, kOddC}}},
     1,
     false,
     true,
     1,
     1},
    {"Appends",
     "type: 'Reshape' reshape_param { axis: -1 shape { dim: 1 } }",
     {{{kOddN, kOddC}}},
     1,
     false,
     true,
     1,
     1},
    {"Fixed",
     "type: 'Reshape' reshape_param { shape { dim: 3 dim: 4 } }",
     {{{2, 6}}},
     1,
     false,
     true,
     1,
     1,
     {{12, 1}}},
};
INSTANTIATE_TEST_SUITE_P(Reshape, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"TwoUnknown",
     "type: 'Reshape' reshape_param { shape { dim: -1 dim: -1 } }",
     {{{2, 6}}},
     "more than one dim -1"},
    {"Negative", "type: 'Reshape' reshape_param { shape { dim: -2 } }", {{{2, 6}}}, "has dim -2"},
    {"Huge",
     "type: 'Reshape' reshape_param { shape { dim: 4294967296 dim: -1 } }",
     {{{2, 6}}},
     "has dim 4294967296"},
    {"Overflow",
     "type: 'Reshape' reshape_param { shape { dim: 65536 dim: 65536 dim: 65536 dim: 65536 dim: -1 "
     "} }",
     {{{2, 6}}},
     "dim -1 cannot make shape"},
    {"Count",
     "type: 'Reshape' reshape_param { shape { dim: 5 dim: 2 } }",
     {{{2, 6}}},
     "a bottom of shape 2 6 \\(12\\) does not fit into shape 5 2"},
    {"NotDivisible",
     "type: 'Reshape' reshape_param { shape { dim: 5 dim: -1 } }",
     {{{2, 6}}},
     "dim -1 cannot make shape 5 1"},
    {"CopyBehind",
     "type: 'Reshape' reshape_param { shape { dim: 0 dim: 0 dim: 0 } }",
     {{{2, 6}}},
     "number 2 would copy axis 2"},
    {"Axis", "type: 'Reshape' reshape_param { axis: 3 }", {{{2, 6}}}, "axis 3 is out of range"},
    {"NegativeAxis",
     "type: 'Reshape' reshape_param { axis: -4 }",
     {{{2, 6}}},
     "axis -4 is out of range"},
    {"NumAxes",
     "type: 'Reshape' reshape_param { num_axes: -2 }",
     {{{2, 6}}},
     "num_axes must be -1 or more, got -2"},
    {"TooManyAxes",
     "type: 'Reshape' reshape_param { axis: 1 num_axes: 2 }",
     {{{2, 6}}},
     "2 axes from axis 1 on are more than"},
};
INSTANTIATE_TEST_SUITE_P(Reshape, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(ReshapeValues, KeepsTheOrder) {
  Example example("type: 'Reshape' reshape_param { shape { dim: 3 dim: -1 } }");
  example.Bottom({2, 3}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{3, 2}));
  EXPECT_EQ(example.Backward({6, 5, 4, 3, 2, 1}), (Floats{6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace caffe
