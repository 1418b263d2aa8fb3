#include "caffe/test/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Half", "type: 'Dropout'", {{{3, 7, 5}}}, 1, true},
    {"Quarter", "type: 'Dropout' dropout_param { dropout_ratio: 0.25 }", {{{2, 1500}}}, 1, true},
    {"Test", "type: 'Dropout' phase: TEST", {{{3, 7}}}, 1, true},
};
INSTANTIATE_TEST_SUITE_P(Dropout, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"RatioOne",
     "type: 'Dropout' dropout_param { dropout_ratio: 1 }",
     {{{2}}},
     "dropout_ratio must be at least 0 and less than 1, got 1"},
    {"RatioNegative",
     "type: 'Dropout' dropout_param { dropout_ratio: -0.5 }",
     {{{2}}},
     "dropout_ratio"},
};
INSTANTIATE_TEST_SUITE_P(Dropout, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
