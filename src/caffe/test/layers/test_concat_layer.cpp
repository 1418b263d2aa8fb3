#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kConcatCases = {
    LayerCase("Channels", "type: 'Concat'").Bottom({2, 3, 2}).Bottom({2, 1, 2}).Bottom({2, 2, 2}),
    LayerCase("Batch", "type: 'Concat' concat_param { axis: 0 }").Bottom({2, 3}).Bottom({1, 3}),
    LayerCase("OldName", "type: 'Concat' concat_param { concat_dim: 1 }")
        .Bottom({2, 3})
        .Bottom({2, 4}),
};
INSTANTIATE_TEST_SUITE_P(Concat, LayerCases, ::testing::ValuesIn(kConcatCases), CaseName());

const std::vector<BadLayerCase> kConcatBadCases = {
    BadLayerCase("Shapes", "type: 'Concat'")
        .Bottom({2, 3, 2})
        .Bottom({2, 3, 3})
        .Says("differ on axis 1 only"),
    BadLayerCase("BothNames", "type: 'Concat' concat_param { axis: 1 concat_dim: 1 }")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Says("not both"),
    BadLayerCase("Axis", "type: 'Concat' concat_param { axis: 2 }")
        .Bottom({2, 3})
        .Says("axis 2 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Concat, BadLayerCases, ::testing::ValuesIn(kConcatBadCases), CaseName());
}  // namespace
}  // namespace caffe
