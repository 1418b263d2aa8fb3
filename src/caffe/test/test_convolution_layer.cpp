#include "caffe/test/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Plain",
     "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "
     "'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }",
     {{{2, 3, 6, 5}}}},
    {"StridePadDilation",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_h: 3 kernel_w: 2 stride_h: 2 "
     "stride_w: 3 pad_h: 2 pad_w: 1 dilation: 2 weight_filler { type: 'gaussian' std: 1 } }",
     {{{2, 3, 7, 8}}}},
    {"Groups",
     "type: 'Convolution' convolution_param { num_output: 6 kernel_size: 3 pad: 1 group: 3 "
     "weight_filler { type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }",
     {{{3, 6, 4, 3}}}},
    {"Depthwise",
     "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 group: "
     "4 weight_filler { type: 'gaussian' std: 1 } }",
     {{{2, 4, 5, 5}}}},
    {"Pointwise",
     "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 1 bias_term: false "
     "weight_filler { type: 'gaussian' std: 1 } }",
     {{{2, 5, 3, 4}}}},
    {"OneAxis",
     "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { "
     "type: 'gaussian' std: 1 } }",
     {{{2, 2, 9}}}},
    {"ThreeAxes",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 stride: 1 pad: 1 "
     "weight_filler { type: 'gaussian' std: 1 } }",
     {{{1, 2, 3, 4, 3}}}},
    {"WithoutCudnnOnAGpu",
     "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 group: "
     "2 "
     "engine: CAFFE weight_filler { type: 'gaussian' std: 1 } }",
     {{{kOddN, 4, 7, kOddW}}}},
    {"TwoBottoms",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 weight_filler { type: "
     "'gaussian' std: 1 } }",
     {{{2, 2, 3, 3}}, {{2, 2, 3, 3}}},
     2},
};
INSTANTIATE_TEST_SUITE_P(Convolution, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"NoKernel",
     "type: 'Convolution' convolution_param { num_output: 2 }",
     {{{1, 2, 5, 5}}},
     "kernel_size is missing"},
    {"ZeroKernel",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 0 }",
     {{{1, 2, 5, 5}}},
     "kernel_size must be at least 1, got 0"},
    {"ZeroStride",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 stride: 0 }",
     {{{1, 2, 5, 5}}},
     "stride must be at least 1, got 0"},
    {"NoOutputs",
     "type: 'Convolution' convolution_param { kernel_size: 3 }",
     {{{1, 2, 5, 5}}},
     "num_output must be positive"},
    {"KernelTooLarge",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 7 }",
     {{{1, 2, 5, 5}}},
     "kernel covers 7 positions, the padded bottom has 5"},
    {"GroupOfChannels",
     "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 group: 2 }",
     {{{1, 3, 5, 5}}},
     "group 2 does not divide the bottom.s 3 channels"},
    {"GroupOfOutputs",
     "type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 group: 2 }",
     {{{1, 4, 5, 5}}},
     "group 2 does not divide num_output 3"},
    {"BothKernels",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 kernel_h: 3 kernel_w: 3 "
     "}",
     {{{1, 2, 5, 5}}},
     "give kernel_size or kernel_h and kernel_w"},
    {"HalfAKernel",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_h: 3 }",
     {{{1, 2, 5, 5}}},
     "give both kernel_h and kernel_w"},
    {"ThreeKernels",
     "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 kernel_size: 3 "
     "kernel_size: 3 }",
     {{{1, 2, 5, 5}}},
     "given 3 times"},
    {"Overflow",
     "type: 'Convolution' convolution_param { num_output: 2000000000 kernel_size: 3 }",
     {{{1, 2, 5, 5}}},
     "2.31 - 1 elements"},
};
INSTANTIATE_TEST_SUITE_P(Convolution, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
