#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Channels", "type: 'Concat'", {{{2, 3, 2}}, {{2, 1, 2}}, {{2, 2, 2}}}},
    {"Batch", "type: 'Concat' concat_param { axis: 0 }", {{{2, 3}}, {{1, 3}}}},
    {"OldName", "type: 'Concat' concat_param { concat_dim: 1 }", {{{2, 3}}, {{2, 4}}}},
};
INSTANTIATE_TEST_SUITE_P(Concat, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Shapes", "type: 'Concat'", {{{2, 3, 2}}, {{2, 3, 3}}}, "differ on axis 1 only"},
    {"BothNames",
     "type: 'Concat' concat_param { axis: 1 concat_dim: 1 }",
     {{{2, 3}}, {{2, 3}}},
     "not both"},
    {"Axis", "type: 'Concat' concat_param { axis: 2 }", {{{2, 3}}}, "axis 2 is out of range"},
};
INSTANTIATE_TEST_SUITE_P(Concat, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
