#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Sum", "type: 'Eltwise'", {{{2, 3, 4}}, {{2, 3, 4}}}},
    {"SumOfThree",
     "type: 'Eltwise' eltwise_param { operation: SUM coeff: 1 coeff: -0.5 coeff: 2 }",
     {{{2, 5}}, {{2, 5}}, {{2, 5}}}},
    {"Product", "type: 'Eltwise' eltwise_param { operation: PROD }", {{{2, 5}}, {{2, 5}}}},
    {"ProductOfThree",
     "type: 'Eltwise' eltwise_param { operation: PROD }",
     {{{2, 5}}, {{2, 5}}, {{2, 5}}}},
    {"Maximum",
     "type: 'Eltwise' eltwise_param { operation: MAX }",
     {{{3, 7}, Fill::DISTINCT}, {{3, 7}, Fill::GAUSSIAN}}},
};
INSTANTIATE_TEST_SUITE_P(Eltwise, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Shapes", "type: 'Eltwise'", {{{2, 3}}, {{3, 2}}}, "bottom 0 is 2 3 .*bottom 1 is 3 2"},
    {"Coefficients",
     "type: 'Eltwise' eltwise_param { coeff: 1 }",
     {{{2}}, {{2}}},
     "coeff is given 1 times for 2 bottoms"},
    {"CoefficientsOfProduct",
     "type: 'Eltwise' eltwise_param { operation: PROD coeff: 1 coeff: 2 }",
     {{{2}}, {{2}}},
     "SUM only"},
    {"OneBottom", "type: 'Eltwise'", {{{2}}}, "at least 2 bottom"},
};
INSTANTIATE_TEST_SUITE_P(Eltwise, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
