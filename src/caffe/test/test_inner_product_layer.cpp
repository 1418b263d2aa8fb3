#include "caffe/test/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Plain",
     "type: 'InnerProduct' inner_product_param { num_output: 5 weight_filler { type: 'gaussian' "
     "std: 1 } bias_filler { type: 'gaussian' std: 1 } }",
     {{{3, 2, 3, 2}}}},
    {"OneRow",
     "type: 'InnerProduct' inner_product_param { num_output: 7 weight_filler { type: 'gaussian' "
     "std: 1 } bias_filler { type: 'gaussian' std: 1 } }",
     {{{1, 33}}}},
    {"Transposed",
     "type: 'InnerProduct' inner_product_param { num_output: 4 transpose: true weight_filler { "
     "type: 'gaussian' std: 1 } }",
     {{{3, 6}}}},
    {"TransposedOneRow",
     "type: 'InnerProduct' inner_product_param { num_output: 4 transpose: true weight_filler { "
     "type: 'gaussian' std: 1 } }",
     {{{1, 6}}}},
    {"Axis",
     "type: 'InnerProduct' inner_product_param { num_output: 4 axis: 2 bias_term: false "
     "weight_filler { type: 'gaussian' std: 1 } }",
     {{{2, 3, 5}}}},
};
INSTANTIATE_TEST_SUITE_P(InnerProduct, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"NoOutputs", "type: 'InnerProduct'", {{{2, 3}}}, "num_output must be positive, got 0"},
    {"Axis",
     "type: 'InnerProduct' inner_product_param { num_output: 2 axis: 3 }",
     {{{2, 3}}},
     "axis 3 is out of range"},
    {"Overflow",
     "type: 'InnerProduct' inner_product_param { num_output: 2000000000 }",
     {{{2, 30}}},
     "2.31 - 1 elements"},
};
INSTANTIATE_TEST_SUITE_P(InnerProduct, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
