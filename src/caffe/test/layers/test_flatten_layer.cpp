#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Plain", "type: 'Flatten'", {{{2, 3, 4}}}},
    {"Some", "type: 'Flatten' flatten_param { axis: 0 end_axis: 1 }", {{{2, 3, 4}}}},
};
INSTANTIATE_TEST_SUITE_P(Flatten, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Order",
     "type: 'Flatten' flatten_param { axis: 2 end_axis: 1 }",
     {{{2, 3, 4}}},
     "lies behind end_axis"},
    {"Axis", "type: 'Flatten' flatten_param { axis: 5 }", {{{2, 3, 4}}}, "axis 5 is out of range"},
};
INSTANTIATE_TEST_SUITE_P(Flatten, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
