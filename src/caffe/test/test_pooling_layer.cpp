#include "caffe/test/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Max",
     "type: 'Pooling' pooling_param { pool: MAX kernel_size: 3 stride: 2 }",
     {{{2, 3, 6, 5}, Fill::DISTINCT}}},
    {"MaxPadded",
     "type: 'Pooling' pooling_param { pool: MAX kernel_h: 3 kernel_w: 2 stride: 2 pad_h: 1 pad_w: "
     "1 }",
     {{{2, 2, 5, 6}, Fill::DISTINCT}}},
    {"Average",
     "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }",
     {{{2, 3, 6, 5}}}},
    {"Global",
     "type: 'Pooling' pooling_param { pool: AVE global_pooling: true }",
     {{{2, 3, 4, 5}}}},
    {"Floor",
     "type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 2 round_mode: FLOOR }",
     {{{1, 2, 5, 7}, Fill::DISTINCT}}},
    {"Mask",
     "type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 2 }",
     {{{1, 2, 4, 4}, Fill::DISTINCT}},
     2,
     false,
     false},
};
INSTANTIATE_TEST_SUITE_P(Pooling, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"NoKernel", "type: 'Pooling'", {{{1, 1, 4, 4}}}, "give kernel_size"},
    {"ZeroStride",
     "type: 'Pooling' pooling_param { kernel_size: 2 stride: 0 }",
     {{{1, 1, 4, 4}}},
     "stride must be positive"},
    {"PadAsLargeAsKernel",
     "type: 'Pooling' pooling_param { kernel_size: 2 pad: 2 }",
     {{{1, 1, 4, 4}}},
     "pad must be smaller than the kernel"},
    {"KernelTooLarge",
     "type: 'Pooling' pooling_param { kernel_size: 5 }",
     {{{1, 1, 4, 4}}},
     "kernel covers 5 positions, the padded bottom has 4"},
    {"GlobalWithKernel",
     "type: 'Pooling' pooling_param { global_pooling: true kernel_size: 2 }",
     {{{1, 1, 4, 4}}},
     "do not give kernel_size"},
    {"ThreeAxes", "type: 'Pooling' pooling_param { kernel_size: 2 }", {{{1, 4, 4}}}, "4 axes"},
    {"Stochastic",
     "type: 'Pooling' pooling_param { kernel_size: 2 pool: STOCHASTIC }",
     {{{1, 1, 4, 4}}},
     "STOCHASTIC"},
};
INSTANTIATE_TEST_SUITE_P(Pooling, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
