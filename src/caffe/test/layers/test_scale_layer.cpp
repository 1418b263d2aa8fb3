#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"PerChannel",
     "type: 'Scale' scale_param { bias_term: true filler { type: 'gaussian' std: 1 } bias_filler { "
     "type: 'gaussian' std: 1 } }",
     {{{2, 3, 2, 4}}},
     1,
     true},
    {"TwoAxes",
     "type: 'Scale' scale_param { bias_term: true filler { type: 'gaussian' std: 1 } }",
     {{{5, 3}}},
     1,
     true},
    {"AllAxes",
     "type: 'Scale' scale_param { axis: 1 num_axes: -1 filler { type: 'gaussian' std: 1 } }",
     {{{3, 2, 4}}},
     1,
     true},
    {"OneNumber",
     "type: 'Scale' scale_param { num_axes: 0 filler { type: 'gaussian' std: 1 } }",
     {{{2, 5}}},
     1,
     true},
    {"FromABottom",
     "type: 'Scale' scale_param { axis: 1 bias_term: true bias_filler { type: 'gaussian' std: 1 } "
     "}",
     {{{2, 3, 4}}, {{3}}},
     1},
};
INSTANTIATE_TEST_SUITE_P(Scale, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Shape", "type: 'Scale' scale_param { axis: 1 }", {{{2, 3, 4}}, {{4}}}, "does not fit axis 1"},
    {"Axis", "type: 'Scale' scale_param { axis: 5 }", {{{2, 3}}}, "axis 5 is out of range"},
};
INSTANTIATE_TEST_SUITE_P(Scale, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
