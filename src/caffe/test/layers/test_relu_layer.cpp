#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kReluCases = {
    LayerCase("Plain", "type: 'ReLU'").Bottom({2, 3, 4, 5}, Fill::DISTINCT).InPlace(),
    LayerCase("Leaky", "type: 'ReLU' relu_param { negative_slope: 0.25 }")
        .Bottom({3, 7}, Fill::DISTINCT)
        .InPlace(),
    LayerCase("NegativeSlope", "type: 'ReLU' relu_param { negative_slope: -0.25 }")
        .Bottom({3, 7}, Fill::DISTINCT)
        .InPlace(),
    LayerCase("OneElement", "type: 'ReLU'").Bottom({1}, Fill::DISTINCT).InPlace(),
    LayerCase("Large", "type: 'ReLU'").Bottom({3, 1031}, Fill::DISTINCT).InPlace(),
};
INSTANTIATE_TEST_SUITE_P(ReLU, LayerCases, ::testing::ValuesIn(kReluCases), CaseName());

const std::vector<BadLayerCase> kReluBadCases = {
    BadLayerCase("TwoBottoms", "type: 'ReLU'").Bottom({2}).Bottom({2}).Says("exactly 1 bottom"),
};
INSTANTIATE_TEST_SUITE_P(ReLU, BadLayerCases, ::testing::ValuesIn(kReluBadCases), CaseName());
}  // namespace
}  // namespace caffe
