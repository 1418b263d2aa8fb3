#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Plain", "type: 'ReLU'", {{{2, 3, 4, 5}, Fill::DISTINCT}}, 1, true},
    {"Leaky",
     "type: 'ReLU' relu_param { negative_slope: 0.25 }",
     {{{3, 7}, Fill::DISTINCT}},
     1,
     true},
    {"NegativeSlope",
     "type: 'ReLU' relu_param { negative_slope: -0.25 }",
     {{{3, 7}, Fill::DISTINCT}},
     1,
     true},
    {"OneElement", "type: 'ReLU'", {{{1}, Fill::DISTINCT}}, 1, true},
    {"Large", "type: 'ReLU'", {{{3, 1031}, Fill::DISTINCT}}, 1, true},
};
INSTANTIATE_TEST_SUITE_P(ReLU, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"TwoBottoms", "type: 'ReLU'", {{{2}}, {{2}}}, "exactly 1 bottom"},
};
INSTANTIATE_TEST_SUITE_P(ReLU, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
