#include "caffe/test/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Batch", "type: 'BatchNorm'", {{{4, 3, 2, 3}}}, 1, true, true, 10},
    {"TwoAxes", "type: 'BatchNorm'", {{{6, 3}}}, 1, true, true, 10},
    {"ScaleBias",
     "type: 'BatchNorm' batch_norm_param { scale_bias: true scale_filler { type: 'gaussian' mean: "
     "1 std: 0.5 } bias_filler { type: 'gaussian' std: 1 } }",
     {{{4, 3, 2, 3}}},
     1,
     true,
     true,
     10},
};
INSTANTIATE_TEST_SUITE_P(BatchNorm, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Fraction",
     "type: 'BatchNorm' batch_norm_param { moving_average_fraction: 2 }",
     {{{2, 3}}},
     "moving_average_fraction"},
    {"LearnedStatistics", "type: 'BatchNorm' param { lr_mult: 1 }", {{{2, 3}}}, "lr_mult 0"},
};
INSTANTIATE_TEST_SUITE_P(BatchNorm, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
