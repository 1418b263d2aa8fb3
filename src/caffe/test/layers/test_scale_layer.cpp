#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kScaleCases = {
    LayerCase("PerChannel",
              "type: 'Scale' scale_param { bias_term: true filler { type: 'gaussian' std: 1 } "
              "bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, 2, 4})
        .InPlace(),
    LayerCase("TwoAxes",
              "type: 'Scale' scale_param { bias_term: true filler { type: 'gaussian' std: 1 } }")
        .Bottom({5, 3})
        .InPlace(),
    LayerCase(
        "AllAxes",
        "type: 'Scale' scale_param { axis: 1 num_axes: -1 filler { type: 'gaussian' std: 1 } }")
        .Bottom({3, 2, 4})
        .InPlace(),
    LayerCase("OneNumber",
              "type: 'Scale' scale_param { num_axes: 0 filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 5})
        .InPlace(),
    LayerCase("FromABottom",
              "type: 'Scale' scale_param { axis: 1 bias_term: true bias_filler { type: 'gaussian' "
              "std: 1 } }")
        .Bottom({2, 3, 4})
        .Bottom({3}),
};
INSTANTIATE_TEST_SUITE_P(Scale, LayerCases, ::testing::ValuesIn(kScaleCases), CaseName());

const std::vector<BadLayerCase> kScaleBadCases = {
    BadLayerCase("Shape", "type: 'Scale' scale_param { axis: 1 }")
        .Bottom({2, 3, 4})
        .Bottom({4})
        .Says("does not fit axis 1"),
    BadLayerCase("Axis", "type: 'Scale' scale_param { axis: 5 }")
        .Bottom({2, 3})
        .Says("axis 5 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Scale, BadLayerCases, ::testing::ValuesIn(kScaleBadCases), CaseName());
}  // namespace
}  // namespace caffe
