#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string Im2col(const std::string& param) {
  return "type: 'Im2col' convolution_param { " + param + " }";
}

const std::vector<LayerCase> kIm2colCases = {
    LayerCase("Padded", Im2col("kernel_size: 3 pad: 1"))
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Terms(9),
    LayerCase("Strided", Im2col("kernel_h: 2 kernel_w: 3 stride: 2 dilation: 2"))
        .Bottom({kOddN, kOddC, 7, 9})
        .Terms(6),
    LayerCase("OneAxis", Im2col("kernel_size: 3")).Bottom({kOddN, kOddC, 5}).Terms(3),
    LayerCase("ThreeAxes", Im2col("kernel_size: 2")).Bottom({2, 2, 3, 4, 5}).Terms(8),
    LayerCase("NoBatch", Im2col("kernel_size: 2 axis: 0"))
        .Bottom({2, 4, 5})
        .Terms(4)
        .Detour({{3, 4, 4}}),
};
INSTANTIATE_TEST_SUITE_P(Im2col, LayerCases, ::testing::ValuesIn(kIm2colCases), CaseName());

const std::vector<BadLayerCase> kIm2colBadCases = {
    BadLayerCase("Kernel", Im2col("")).Bottom({1, 1, 3, 3}).Says("kernel_size is missing"),
    BadLayerCase("Large", Im2col("kernel_size: 3 dilation: 2"))
        .Bottom({1, 1, 4, 5})
        .Says("the kernel covers 5 positions, the padded bottom has 4"),
    BadLayerCase("NoAxis", Im2col("axis: 3"))
        .Bottom({1, 1, 4, 5})
        .Says("windows of the axes behind axis 3"),
    BadLayerCase("HalfAKernel", Im2col("kernel_w: 3"))
        .Bottom({1, 1, 4, 5})
        .Says("give both kernel_h and kernel_w"),
    BadLayerCase("Axis", Im2col("kernel_size: 3 axis: 4"))
        .Bottom({1, 1, 4, 5})
        .Says("axis 4 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Im2col, BadLayerCases, ::testing::ValuesIn(kIm2colBadCases), CaseName());

TEST(Im2colValues, OneRowAKernelPosition) {
  Example example(Im2col("kernel_h: 1 kernel_w: 2 pad_w: 1"));
  example.Bottom({1, 1, 1, 3}, {1, 2, 3}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 1, 2, 3, 1, 2, 3, 0}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 2, 1, 4}));
  EXPECT_EQ(example.Backward({1, 1, 1, 1, 10, 10, 10, 10}), (Floats{11, 11, 11}));
}

}  // namespace
}  // namespace caffe
