#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kGaussian =
    "weight_filler { type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } ";

std::string Deconvolution(const std::string& param) {
  return "type: 'Deconvolution' convolution_param { " + kGaussian + param + " }";
}

const std::vector<LayerCase> kDeconvolutionCases = {
    LayerCase("Plain", Deconvolution("num_output: 4 kernel_size: 3")).Bottom({2, 3, 4, 5}),
    LayerCase("Stride", Deconvolution("num_output: 2 kernel_size: 4 stride: 2 pad: 1"))
        .Bottom({2, 3, 3, 5}),
    LayerCase("EverythingPerAxis",
              Deconvolution("num_output: 2 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 3 pad_h: "
                            "1 pad_w: 0 dilation: 2 dilation: 3"))
        .Bottom({2, 3, 3, 4}),
    LayerCase("StrideAboveKernel", Deconvolution("num_output: 2 kernel_size: 2 stride: 3"))
        .Bottom({1, 2, 3, 3}),
    LayerCase("Groups", Deconvolution("num_output: 6 kernel_size: 3 group: 3 stride: 2"))
        .Bottom({2, 6, 3, 2}),
    LayerCase("NoBias", Deconvolution("num_output: 3 kernel_size: 2 bias_term: false"))
        .Bottom({2, 2, kOddH, kOddW}),
    LayerCase("Pointwise", Deconvolution("num_output: 3 kernel_size: 1")).Bottom({2, 5, 3, 4}),
    LayerCase("DepthwiseBilinear",
              "type: 'Deconvolution' convolution_param { num_output: 5 kernel_size: 4 stride: 2 "
              "pad: 1 group: 5 bias_term: false weight_filler { type: 'bilinear' } }")
        .Bottom({2, 5, 4, 3}),
    LayerCase("DepthwiseStrideAboveKernel",
              Deconvolution("num_output: 3 kernel_size: 2 stride: 3 group: 3"))
        .Bottom({2, 3, 3, 4}),
    LayerCase("DepthwiseDilated",
              Deconvolution("num_output: 3 kernel_size: 3 stride: 2 dilation: 3 pad: 2 group: 3"))
        .Bottom({2, 3, 4, 5}),
    LayerCase("DepthwiseFewerOutputs", Deconvolution("num_output: 2 kernel_size: 3 group: 2"))
        .Bottom({2, 4, 3, 3}),
    LayerCase("PadOfTheHeightAlone",
              Deconvolution("num_output: 2 kernel_size: 3 stride: 2 pad_h: 1"))
        .Bottom({2, 3, 3, 4}),
    LayerCase("NoSpatialAxis", Deconvolution("axis: 3 num_output: 4")).Bottom({kOddN, 2, 3, kOddC}),
    LayerCase("NoSpatialAxisGroups", Deconvolution("axis: 1 num_output: 4 group: 2"))
        .Bottom({3, 6}),
    LayerCase("NoSpatialAxisDepthwise",
              Deconvolution("axis: 2 num_output: 5 group: 5 bias_term: false"))
        .Bottom({2, 3, 5}),
    LayerCase("OneAxis", Deconvolution("num_output: 3 kernel_size: 3 stride: 2")).Bottom({2, 2, 5}),
    LayerCase("ThreeAxes", Deconvolution("num_output: 2 kernel_size: 2 stride: 2"))
        .Bottom({1, 2, 2, 3, 2}),
    LayerCase("ThreeAxesDepthwise", Deconvolution("num_output: 2 kernel_size: 2 group: 2"))
        .Bottom({1, 2, 2, 3, 2}),
    LayerCase("WithoutCudnnOnAGpu",
              Deconvolution("num_output: 2 kernel_size: 3 pad: 1 stride: 2 engine: CAFFE"))
        .Bottom({kOddN, 3, 4, kOddW}),
    LayerCase("TwoBottoms", Deconvolution("num_output: 2 kernel_size: 2"))
        .Bottom({2, 2, 3, 3})
        .Bottom({2, 2, 3, 3})
        .Tops(2),
};
INSTANTIATE_TEST_SUITE_P(Deconvolution, LayerCases, ::testing::ValuesIn(kDeconvolutionCases),
                         CaseName());

const std::vector<BadLayerCase> kDeconvolutionBadCases = {
    BadLayerCase("NoKernel", "type: 'Deconvolution' convolution_param { num_output: 2 }")
        .Bottom({1, 2, 5, 5})
        .Says("kernel_size is missing"),
    BadLayerCase("NoOutputs", "type: 'Deconvolution' convolution_param { kernel_size: 3 }")
        .Bottom({1, 2, 5, 5})
        .Says("num_output must be positive"),
    BadLayerCase(
        "Group",
        "type: 'Deconvolution' convolution_param { num_output: 4 kernel_size: 3 group: 2 }")
        .Bottom({1, 3, 5, 5})
        .Says("group 2 does not divide the bottom.s 3 channels"),
    BadLayerCase("PadTakesAll",
                 "type: 'Deconvolution' convolution_param { num_output: 2 kernel_size: 3 pad: 4 }")
        .Bottom({1, 2, 5, 5})
        .Says(
            "on spatial axis 0 the output has 7 positions, of which pad takes off 4 on each side"),
    BadLayerCase("Overflow",
                 "type: 'Deconvolution' convolution_param { num_output: 2 kernel_size: 3 stride: "
                 "2000000000 }")
        .Bottom({1, 2, 5, 5})
        .Says("reduce stride or dilation"),
};
INSTANTIATE_TEST_SUITE_P(Deconvolution, BadLayerCases, ::testing::ValuesIn(kDeconvolutionBadCases),
                         CaseName());

TEST(DeconvolutionValues, SpreadsEachInputByTheKernel) {
  Example example("type: 'Deconvolution' convolution_param { num_output: 1 kernel_size: 2 }");
  example.Bottom({1, 1, 2, 2}, {1, 2, 3, 4}).SetUp();
  example.Parameter(0, {1, 10, 100, 1000}).Parameter(1, {0.5});
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 1, 3, 3}));
  EXPECT_EQ(example.Forward(),
            (Floats{1.5, 12.5, 20.5, 103.5, 1234.5, 2040.5, 300.5, 3400.5, 4000.5}));
  EXPECT_EQ(example.Backward(Floats(9, 1)), Floats(4, 1111));
}

// Of two outputs of a group, each has a kernel of its own in the row of the input channel.
TEST(DeconvolutionValues, WeightsAreInputsByOutputs) {
  Example example(
      "type: 'Deconvolution' convolution_param { num_output: 2 kernel_size: 1 bias_term: false }");
  example.Bottom({1, 3, 1, 1}, {1, 2, 3}).SetUp();
  EXPECT_EQ(example.layer().blobs()[0]->shape(), (std::vector<int>{3, 2, 1, 1}));
  example.Parameter(0, {1, 10, 2, 20, 3, 30});
  EXPECT_EQ(example.Forward(), (Floats{14, 140}));
}

TEST(DeconvolutionValues, BilinearWeightsInterpolate) {
  Example example(
      "type: 'Deconvolution' convolution_param { num_output: 1 kernel_size: 4 stride: 2 pad: 1 "
      "bias_term: false weight_filler { type: 'bilinear' } }");
  example.Bottom({1, 1, 1, 2}, {4, 8}).SetUp();
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 1, 2, 4}));
  const Floats y = example.Forward();  // rows 0.75 and 0.75 of (3, 3 + 2, 1 + 6, 6)
  const Floats expected = {3 * 0.75f, 5 * 0.75f, 7 * 0.75f, 6 * 0.75f};
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(y[i], expected[i % 4]) << i;
}

}  // namespace
}  // namespace caffe
