#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string DepthwiseLayer(const std::string& type, const std::string& param) {
  return "type: '" + type +
         "' convolution_param { weight_filler { type: 'gaussian' std: 1 } bias_filler { type: "
         "'gaussian' std: 1 } " +
         param + " }";
}

const std::vector<LayerCase> kDepthwiseConvolutionCases = {
    LayerCase("Same", DepthwiseLayer("DepthwiseConvolution", "kernel_size: 3 pad: 1"))
        .Bottom({2, kOddC, kOddH, 3}),
    LayerCase("GroupGiven",
              DepthwiseLayer("DepthwiseConvolution",
                             "num_output: 4 group: 4 kernel_size: 3 stride: 2 pad: 1"))
        .Bottom({2, 4, 7, 6}),
    LayerCase("TwoOutputsPerChannel",
              DepthwiseLayer("DepthwiseConvolution",
                             "num_output: 6 kernel_h: 2 kernel_w: 3 bias_term: false"))
        .Bottom({2, 3, 5, 4}),
    LayerCase("ManyOutputsPerChannel",
              DepthwiseLayer("DepthwiseConvolution", "num_output: 15 kernel_size: 2"))
        .Bottom({2, 3, 5, 4}),
    LayerCase("StrideAboveKernel",
              DepthwiseLayer("DepthwiseConvolution", "kernel_size: 2 stride: 3"))
        .Bottom({2, 3, 9, 8}),
    LayerCase("Dilated",
              DepthwiseLayer("DepthwiseConvolution", "kernel_size: 3 stride: 2 dilation: 3 pad: 4"))
        .Bottom({2, 3, 8, 9}),
    LayerCase("LargeKernel", DepthwiseLayer("DepthwiseConvolution", "kernel_size: 5 pad: 2"))
        .Bottom({1, 2, 6, 7}),
    LayerCase("NoSpatialAxis", DepthwiseLayer("DepthwiseConvolution", "axis: 3"))
        .Bottom({2, 3, 2, kOddC}),
    LayerCase("PadOfTheWidthAlone",
              DepthwiseLayer("DepthwiseConvolution", "kernel_size: 3 pad_w: 1"))
        .Bottom({2, 3, 5, 4}),
    LayerCase("OneAxis", DepthwiseLayer("DepthwiseConvolution", "kernel_size: 3 pad: 1 stride: 2"))
        .Bottom({2, 3, 9}),
    LayerCase("ThreeAxes", DepthwiseLayer("DepthwiseConvolution", "kernel_size: 2"))
        .Bottom({1, 2, 3, 4, 3}),
    LayerCase("OtherName",
              DepthwiseLayer("ConvolutionDepthwise", "num_output: 3 kernel_size: 3 pad: 1"))
        .Bottom({2, 3, 5, 4}),
    LayerCase(
        "OtherNameIgnoresNumOutput",
        DepthwiseLayer("ConvolutionDepthwise", "num_output: 7 kernel_size: 3 bias_term: false"))
        .Bottom({2, 3, 5, 4}),
    LayerCase("TwoBottoms", DepthwiseLayer("ConvolutionDepthwise", "kernel_size: 2"))
        .Bottom({2, 2, 3, 3})
        .Bottom({2, 2, 3, 3})
        .Tops(2),
};
INSTANTIATE_TEST_SUITE_P(DepthwiseConvolution, LayerCases,
                         ::testing::ValuesIn(kDepthwiseConvolutionCases), CaseName());

const std::vector<BadLayerCase> kDepthwiseConvolutionBadCases = {
    BadLayerCase("Group",
                 DepthwiseLayer("DepthwiseConvolution", "kernel_size: 3 group: 2 num_output: 4"))
        .Bottom({1, 4, 5, 5})
        .Says("group is the number of channels, 4, in a depthwise convolution: leave it out, it is "
              "2"),
    BadLayerCase("NumOutput",
                 DepthwiseLayer("DepthwiseConvolution", "kernel_size: 3 num_output: 6"))
        .Bottom({1, 4, 5, 5})
        .Says("group 4 does not divide num_output 6"),
    BadLayerCase("NoKernel", DepthwiseLayer("ConvolutionDepthwise", ""))
        .Bottom({1, 4, 5, 5})
        .Says("kernel_size is missing"),
};
INSTANTIATE_TEST_SUITE_P(DepthwiseConvolution, BadLayerCases,
                         ::testing::ValuesIn(kDepthwiseConvolutionBadCases), CaseName());

TEST(DepthwiseConvolutionValues, EachChannelHasItsKernel) {
  for (const char* type : {"DepthwiseConvolution", "ConvolutionDepthwise"}) {
    Example example(std::string("type: '") + type +
                    "' convolution_param { num_output: 2 kernel_size: 2 }");
    example.Bottom({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).SetUp();
    EXPECT_EQ(example.layer().blobs()[0]->shape(), (std::vector<int>{2, 1, 2, 2}));
    example.Parameter(0, {1, 0, 0, 10, 0, 1, 0, 0}).Parameter(1, {0.5, 0});
    EXPECT_EQ(example.Forward(), (Floats{51.5, 62.5, 8, 9})) << type;
  }
}

// Whole rows and columns that no window reaches have no gradient.
TEST(DepthwiseConvolutionValues, WhatNoWindowReachesHasNoGradient) {
  Example example(
      "type: 'DepthwiseConvolution' convolution_param { kernel_size: 1 stride: 3 bias_term: false "
      "}");
  example.Bottom({1, 1, 2, 5}, Floats(10, 1)).SetUp();
  example.Parameter(0, {2});
  EXPECT_EQ(example.Forward(), (Floats{2, 2}));
  EXPECT_EQ(example.Backward({1, 3}), (Floats{2, 0, 0, 6, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace caffe
