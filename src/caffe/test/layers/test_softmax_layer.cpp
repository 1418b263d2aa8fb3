#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kSoftmaxCases = {
    LayerCase("Channels", "type: 'Softmax'").Bottom({2, 5, 2, 3}).InPlace(),
    LayerCase("LastAxis", "type: 'Softmax' softmax_param { axis: -1 }").Bottom({3, 4}).InPlace(),
    LayerCase("TwoClasses", "type: 'Softmax' softmax_param { axis: 2 }")
        .Bottom({2, 33, 2})
        .InPlace(),
    LayerCase("LongRows", "type: 'Softmax'").Bottom({2, 150}).InPlace(),
};
INSTANTIATE_TEST_SUITE_P(Softmax, LayerCases, ::testing::ValuesIn(kSoftmaxCases), CaseName());

const std::vector<BadLayerCase> kSoftmaxBadCases = {
    BadLayerCase("Axis", "type: 'Softmax' softmax_param { axis: 4 }")
        .Bottom({2, 3})
        .Says("axis 4 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Softmax, BadLayerCases, ::testing::ValuesIn(kSoftmaxBadCases), CaseName());
}  // namespace
}  // namespace caffe
