#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kFlattenCases = {
    LayerCase("Plain", "type: 'Flatten'").Bottom({2, 3, 4}),
    LayerCase("Some", "type: 'Flatten' flatten_param { axis: 0 end_axis: 1 }").Bottom({2, 3, 4}),
};
INSTANTIATE_TEST_SUITE_P(Flatten, LayerCases, ::testing::ValuesIn(kFlattenCases), CaseName());

const std::vector<BadLayerCase> kFlattenBadCases = {
    BadLayerCase("Order", "type: 'Flatten' flatten_param { axis: 2 end_axis: 1 }")
        .Bottom({2, 3, 4})
        .Says("lies behind end_axis"),
    BadLayerCase("Axis", "type: 'Flatten' flatten_param { axis: 5 }")
        .Bottom({2, 3, 4})
        .Says("axis 5 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Flatten, BadLayerCases, ::testing::ValuesIn(kFlattenBadCases), CaseName());
}  // namespace
}  // namespace caffe
