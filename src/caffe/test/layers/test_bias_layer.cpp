#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kRandom = "filler { type: 'gaussian' std: 1 } ";
const std::vector<LayerCase> kBiasCases = {
    LayerCase("PerChannel", "type: 'Bias' bias_param { " + kRandom + "}")
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .InPlace(),
    LayerCase("Rows", "type: 'Bias' bias_param { " + kRandom + "}")
        .Bottom({kOddN, kOddC})
        .InPlace(),
    // The parameter covers the batch, which therefore stays.
    LayerCase("AllAxes", "type: 'Bias' bias_param { axis: 0 num_axes: -1 " + kRandom + "}")
        .Bottom({3, 5})
        .InPlace()
        .Detour({{3, 5}}),
    LayerCase("OneNumber", "type: 'Bias' bias_param { num_axes: 0 " + kRandom + "}")
        .Bottom({kOddN, kOddC})
        .InPlace(),
    LayerCase("TwoAxes", "type: 'Bias' bias_param { axis: -2 num_axes: 2 " + kRandom + "}")
        .Bottom({kOddN, kOddC, kOddH})
        .InPlace(),
    LayerCase("FromABottom", "type: 'Bias' bias_param { axis: 0 }")
        .Bottom({kOddN, kOddC, kOddH})
        .Bottom({kOddN, kOddC})
        .InPlace(),
    LayerCase("NumberFromABottom", "type: 'Bias'").Bottom({kOddN, kOddC}).Bottom({}).InPlace(),
};
INSTANTIATE_TEST_SUITE_P(Bias, LayerCases, ::testing::ValuesIn(kBiasCases), CaseName());

const std::vector<BadLayerCase> kBiasBadCases = {
    BadLayerCase("Axis", "type: 'Bias' bias_param { axis: 2 }")
        .Bottom({2, 3})
        .Says("bias_param: axis 2 is out of range for a bottom of shape 2 3"),
    BadLayerCase("NumAxes", "type: 'Bias' bias_param { num_axes: -2 }")
        .Bottom({2, 3})
        .Says("bias_param: num_axes must be -1 or more, got -2"),
    BadLayerCase("TooMany", "type: 'Bias' bias_param { num_axes: 2 }")
        .Bottom({2, 3})
        .Says("a bias of 2 axes from axis 1 on does not fit"),
    BadLayerCase("Shape", "type: 'Bias'")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("a bias of shape 2 \\(2\\) does not fit axis 1"),
    BadLayerCase("Blobs", "type: 'Bias' blobs { data: 1 } blobs { data: 1 }")
        .Bottom({2, 3})
        .Says("1 parameter blob\\(s\\), 2 are given"),
};
INSTANTIATE_TEST_SUITE_P(Bias, BadLayerCases, ::testing::ValuesIn(kBiasBadCases), CaseName());

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
