#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string Im2col(const std::string& param) {
  return "type: 'Im2col' convolution_param { " + param + " }";
}

const std::vector<LayerCase> kCases = {
    {"Padded",
     Im2col("kernel_size: 3 pad: 1"),
     {{{kOddN, kOddC, kOddH, kOddW}}},
     1,
     false,
     true,
     1,
     9},
    {"Strided",
     Im2col("kernel_h: 2 kernel_w: 3 stride: 2 dilation: 2"),
     {{{kOddN, kOddC, 7, 9}}},
     1,
     false,
     true,
     1,
     6},
    {"OneAxis", Im2col("kernel_size: 3"), {{{kOddN, kOddC, 5}}}, 1, false, true, 1, 3},
    {"ThreeAxes", Im2col("kernel_size: 2"), {{{2, 2, 3, 4, 5}}}, 1, false, true, 1, 8},
    {"NoBatch", Im2col("kernel_size: 2 axis: 0"), {{{2, 4, 5}}}, 1, false, true, 1, 4, {{3, 4, 4}}},
};
INSTANTIATE_TEST_SUITE_P(Im2col, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Kernel", Im2col(""), {{{1, 1, 3, 3}}}, "kernel_size is missing"},
    {"Large",
     Im2col("kernel_size: 3 dilation: 2"),
     {{{1, 1, 4, 5}}},
     "the kernel covers 5 positions, the padded bottom has 4"},
    {"NoAxis", Im2col("axis: 3"), {{{1, 1, 4, 5}}}, "windows of the axes behind axis 3"},
    {"HalfAKernel", Im2col("kernel_w: 3"), {{{1, 1, 4, 5}}}, "give both kernel_h and kernel_w"},
    {"Axis", Im2col("kernel_size: 3 axis: 4"), {{{1, 1, 4, 5}}}, "axis 4 is out of range"},
};
INSTANTIATE_TEST_SUITE_P(Im2col, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(Im2colValues, OneRowAKernelPosition) {
  Example example(Im2col("kernel_h: 1 kernel_w: 2 pad_w: 1"));
  example.Bottom({1, 1, 1, 3}, {1, 2, 3}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 1, 2, 3, 1, 2, 3, 0}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 2, 1, 4}));
  EXPECT_EQ(example.Backward({1, 1, 1, 1, 10, 10, 10, 10}), (Floats{11, 11, 11}));
}

}  // namespace
}  // namespace caffe
