#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kEltwiseCases = {
    LayerCase("Sum", "type: 'Eltwise'").Bottom({2, 3, 4}).Bottom({2, 3, 4}),
    LayerCase("SumOfThree",
              "type: 'Eltwise' eltwise_param { operation: SUM coeff: 1 coeff: -0.5 coeff: 2 }")
        .Bottom({2, 5})
        .Bottom({2, 5})
        .Bottom({2, 5}),
    LayerCase("Product", "type: 'Eltwise' eltwise_param { operation: PROD }")
        .Bottom({2, 5})
        .Bottom({2, 5}),
    LayerCase("ProductOfThree", "type: 'Eltwise' eltwise_param { operation: PROD }")
        .Bottom({2, 5})
        .Bottom({2, 5})
        .Bottom({2, 5}),
    LayerCase("Maximum", "type: 'Eltwise' eltwise_param { operation: MAX }")
        .Bottom({3, 7}, Fill::DISTINCT)
        .Bottom({3, 7}),
};
INSTANTIATE_TEST_SUITE_P(Eltwise, LayerCases, ::testing::ValuesIn(kEltwiseCases), CaseName());

const std::vector<BadLayerCase> kEltwiseBadCases = {
    BadLayerCase("Shapes", "type: 'Eltwise'")
        .Bottom({2, 3})
        .Bottom({3, 2})
        .Says("bottom 0 is 2 3 .*bottom 1 is 3 2"),
    BadLayerCase("Coefficients", "type: 'Eltwise' eltwise_param { coeff: 1 }")
        .Bottom({2})
        .Bottom({2})
        .Says("coeff is given 1 times for 2 bottoms"),
    BadLayerCase("CoefficientsOfProduct",
                 "type: 'Eltwise' eltwise_param { operation: PROD coeff: 1 coeff: 2 }")
        .Bottom({2})
        .Bottom({2})
        .Says("SUM only"),
    BadLayerCase("OneBottom", "type: 'Eltwise'").Bottom({2}).Says("at least 2 bottom"),
};
INSTANTIATE_TEST_SUITE_P(Eltwise, BadLayerCases, ::testing::ValuesIn(kEltwiseBadCases), CaseName());
}  // namespace
}  // namespace caffe
