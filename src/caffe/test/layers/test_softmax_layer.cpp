#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Channels", "type: 'Softmax'", {{{2, 5, 2, 3}}}, 1, true},
    {"LastAxis", "type: 'Softmax' softmax_param { axis: -1 }", {{{3, 4}}}, 1, true},
    {"TwoClasses", "type: 'Softmax' softmax_param { axis: 2 }", {{{2, 33, 2}}}, 1, true},
    {"LongRows", "type: 'Softmax'", {{{2, 150}}}, 1, true},
};
INSTANTIATE_TEST_SUITE_P(Softmax, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Axis", "type: 'Softmax' softmax_param { axis: 4 }", {{{2, 3}}}, "axis 4 is out of range"},
};
INSTANTIATE_TEST_SUITE_P(Softmax, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
