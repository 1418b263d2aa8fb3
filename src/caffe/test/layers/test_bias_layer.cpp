#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kRandom = "filler { type: 'gaussian' std: 1 } ";
const std::vector<LayerCase> kCases = {
    {"PerChannel",
     "type: 'Bias' bias_param { " + kRandom + "}",
     {{{kOddN, kOddC, kOddH, kOddW}}},
     1,
     true},
    {"Rows", "type: 'Bias' bias_param { " + kRandom + "}", {{{kOddN, kOddC}}}, 1, true},
    // The parameter covers the batch, which therefore stays.
    {"AllAxes",
     "type: 'Bias' bias_param { axis: 0 num_axes: -1 " + kRandom + "}",
     {{{3, 5}}},
     1,
     true,
     true,
     1,
     -1,
     {{3, 5}}},
    {"OneNumber",
     "type: 'Bias' bias_param { num_axes: 0 " + kRandom + "}",
     {{{kOddN, kOddC}}},
     1,
     true},
    {"TwoAxes",
     "type: 'Bias' bias_param { axis: -2 num_axes: 2 " + kRandom + "}",
     {{{kOddN, kOddC, kOddH}}},
     1,
     true},
    {"FromABottom",
     "type: 'Bias' bias_param { axis: 0 }",
     {{{kOddN, kOddC, kOddH}}, {{kOddN, kOddC}}},
     1,
     true},
    {"NumberFromABottom", "type: 'Bias'", {{{kOddN, kOddC}}, {{}}}, 1, true},
};
INSTANTIATE_TEST_SUITE_P(Bias, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Axis",
     "type: 'Bias' bias_param { axis: 2 }",
     {{{2, 3}}},
     "bias_param: axis 2 is out of range for a bottom of shape 2 3"},
    {"NumAxes",
     "type: 'Bias' bias_param { num_axes: -2 }",
     {{{2, 3}}},
     "bias_param: num_axes must be -1 or more, got -2"},
    {"TooMany",
     "type: 'Bias' bias_param { num_axes: 2 }",
     {{{2, 3}}},
     "a bias of 2 axes from axis 1 on does not fit"},
    {"Shape", "type: 'Bias'", {{{2, 3}}, {{2}}}, "a bias of shape 2 \\(2\\) does not fit axis 1"},
    {"Blobs",
     "type: 'Bias' blobs { data: 1 } blobs { data: 1 }",
     {{{2, 3}}},
     "1 parameter blob\\(s\\), 2 are given"},
};
INSTANTIATE_TEST_SUITE_P(Bias, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(BiasValues, OnePerChannel) {
  Example example("type: 'Bias'");
  example.Bottom({1, 2, 2}, {1, 2, 3, 4}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 3, 4})) << "0 at first";
  example.Parameter(0, {10, 100});
  EXPECT_EQ(example.Forward(), (Floats{11, 12, 103, 104}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(example.layer().blobs()[0]->cpu_diff()[1], 7);
}

}  // namespace
}  // namespace caffe
