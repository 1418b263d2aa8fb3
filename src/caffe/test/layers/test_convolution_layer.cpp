#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kConvolutionCases = {
    LayerCase("Plain",
              "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 weight_filler "
              "{ type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, 6, 5}),
    LayerCase(
        "StridePadDilation",
        "type: 'Convolution' convolution_param { num_output: 2 kernel_h: 3 kernel_w: 2 stride_h: 2 "
        "stride_w: 3 pad_h: 2 pad_w: 1 dilation: 2 weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, 7, 8}),
    LayerCase(
        "Groups",
        "type: 'Convolution' convolution_param { num_output: 6 kernel_size: 3 pad: 1 group: 3 "
        "weight_filler { type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({3, 6, 4, 3}),
    LayerCase("Depthwise",
              "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: "
              "2 group: 4 weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 4, 5, 5}),
    LayerCase("Pointwise",
              "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 1 bias_term: "
              "false weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 5, 3, 4}),
    LayerCase("OneAxis",
              "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 pad: 1 "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 2, 9}),
    LayerCase("ThreeAxes",
              "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 stride: 1 pad: "
              "1 weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({1, 2, 3, 4, 3}),
    LayerCase("WithoutCudnnOnAGpu",
              "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: "
              "2 group: 2 engine: CAFFE weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({kOddN, 4, 7, kOddW}),
    LayerCase("TwoBottoms",
              "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 weight_filler "
              "{ type: 'gaussian' std: 1 } }")
        .Bottom({2, 2, 3, 3})
        .Bottom({2, 2, 3, 3})
        .Tops(2),
    LayerCase("PadOfTheHeightAlone",
              "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 pad_h: 2 "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, kOddH, 5}),
    LayerCase("PadOfTheWidthAlone",
              "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 group: 2 "
              "pad_w: 1 weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 4, 6, kOddW}),
    // An inner product over the channels of each position.
    LayerCase("NoSpatialAxis",
              "type: 'Convolution' convolution_param { axis: 3 num_output: 4 weight_filler { type: "
              "'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({kOddN, 3, 4, kOddC}),
    LayerCase("NoSpatialAxisOneKernelSize",
              "type: 'Convolution' convolution_param { axis: -1 num_output: 20 kernel_size: 1 "
              "bias_term: false weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({3, 17})
        .Bottom({3, 17})
        .Tops(2),
    LayerCase("NoSpatialAxisGroups",
              "type: 'Convolution' convolution_param { axis: 2 num_output: 6 group: 3 "
              "weight_filler { type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, 6}),
    LayerCase("NoSpatialAxisDepthwise",
              "type: 'Convolution' convolution_param { axis: 1 num_output: 8 group: 8 "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({kOddN, 8}),
};
INSTANTIATE_TEST_SUITE_P(Convolution, LayerCases, ::testing::ValuesIn(kConvolutionCases),
                         CaseName());

const std::vector<BadLayerCase> kConvolutionBadCases = {
    BadLayerCase("NoKernel", "type: 'Convolution' convolution_param { num_output: 2 }")
        .Bottom({1, 2, 5, 5})
        .Says("kernel_size is missing"),
    BadLayerCase("ZeroKernel",
                 "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 0 }")
        .Bottom({1, 2, 5, 5})
        .Says("kernel_size must be at least 1, got 0"),
    BadLayerCase("ZeroStride",
                 "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 stride: 0 }")
        .Bottom({1, 2, 5, 5})
        .Says("stride must be at least 1, got 0"),
    BadLayerCase("NoOutputs", "type: 'Convolution' convolution_param { kernel_size: 3 }")
        .Bottom({1, 2, 5, 5})
        .Says("num_output must be positive"),
    BadLayerCase("KernelTooLarge",
                 "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 7 }")
        .Bottom({1, 2, 5, 5})
        .Says("kernel covers 7 positions, the padded bottom has 5"),
    BadLayerCase("GroupOfChannels",
                 "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 group: 2 }")
        .Bottom({1, 3, 5, 5})
        .Says("group 2 does not divide the bottom.s 3 channels"),
    BadLayerCase("GroupOfOutputs",
                 "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 group: 2 }")
        .Bottom({1, 4, 5, 5})
        .Says("group 2 does not divide num_output 3"),
    BadLayerCase("BothKernels",
                 "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 kernel_h: 3 "
                 "kernel_w: 3 }")
        .Bottom({1, 2, 5, 5})
        .Says("give kernel_size or kernel_h and kernel_w"),
    BadLayerCase(
        "HalfAStride",
        "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 stride_w: 2 }")
        .Bottom({1, 2, 5, 5})
        .Says("give both stride_h and stride_w"),
    BadLayerCase(
        "PadTwice",
        "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 pad: 1 pad_h: 1 }")
        .Bottom({1, 2, 5, 5})
        .Says("give pad or pad_h and pad_w, not both"),
    BadLayerCase(
        "KernelPerAxisOfNone",
        "type: 'Convolution' convolution_param { num_output: 2 axis: 3 kernel_h: 1 kernel_w: 1 }")
        .Bottom({1, 2, 5, 5})
        .Says("are for 2 spatial axes; the input has 0"),
    BadLayerCase("HalfAKernel",
                 "type: 'Convolution' convolution_param { num_output: 2 kernel_h: 3 }")
        .Bottom({1, 2, 5, 5})
        .Says("give both kernel_h and kernel_w"),
    BadLayerCase("ThreeKernels",
                 "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 "
                 "kernel_size: 3 kernel_size: 3 }")
        .Bottom({1, 2, 5, 5})
        .Says("given 3 times"),
    BadLayerCase("Overflow",
                 "type: 'Convolution' convolution_param { num_output: 2000000000 kernel_size: 3 }")
        .Bottom({1, 2, 5, 5})
        .Says("2.31 - 1 elements"),
};
INSTANTIATE_TEST_SUITE_P(Convolution, BadLayerCases, ::testing::ValuesIn(kConvolutionBadCases),
                         CaseName());

const char kOverChannels[] =
    "type: 'Convolution' convolution_param { axis: 3 num_output: 2 bias_filler { type: 'constant' "
    "value: 10 } }";

TEST(ConvolutionValues, OverNoSpatialAxisIsAnInnerProductOfEachPosition) {
  Example example(kOverChannels);
  example.Bottom({1, 2, 1, 3}, {1, 2, 3, -1, 0, 4}).SetUp();
  EXPECT_EQ(example.layer().blobs()[0]->shape(), (std::vector<int>{2, 3}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 2, 1, 2}));
  example.Parameter(0, {1, 0, 2, 0, -1, 1});
  EXPECT_EQ(example.Forward(), (Floats{17, 11, 17, 14}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}), (Floats{1, -2, 4, 3, -4, 10}));
}

// The other one is 0.
TEST(ConvolutionValues, PadsOneAxisAlone) {
  const std::string param =
      "type: 'Convolution' convolution_param { num_output: 1 kernel_size: 3 weight_filler { type: "
      "'constant' value: 1 } ";
  Example above(param + "pad_h: 1 }"), next_to(param + "pad_w: 1 }");
  above.Bottom({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(above.TopShape(), (std::vector<int>{1, 1, 2, 1}));
  EXPECT_EQ(above.Forward(), (Floats{21, 21}));
  next_to.Bottom({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(next_to.TopShape(), (std::vector<int>{1, 1, 1, 2}));
  EXPECT_EQ(next_to.Forward(), (Floats{21, 21}));
}

}  // namespace
}  // namespace caffe
