#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kAccuracyCases = {
    LayerCase("Plain", "type: 'Accuracy'")
        .Constant({10, 4}, Fill::DISTINCT)
        .Labels({10}, 4)
        .WithoutGradients(),
    LayerCase("TopTwoPerClass", "type: 'Accuracy' accuracy_param { top_k: 2 }")
        .Constant({10, 4, 3}, Fill::DISTINCT)
        .Labels({10, 3}, 4)
        .Tops(2)
        .WithoutGradients(),
    LayerCase("Ignored", "type: 'Accuracy' accuracy_param { ignore_label: 0 }")
        .Constant({10, 4}, Fill::DISTINCT)
        .Labels({10}, 4)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(Accuracy, LayerCases, ::testing::ValuesIn(kAccuracyCases), CaseName());

const std::vector<BadLayerCase> kAccuracyBadCases = {
    BadLayerCase("Label", "type: 'Accuracy'")
        .Bottom({4, 2})
        .Labels({4}, 1000)
        .InForward()
        .Says("label number [0-9]+ is [0-9]+"),
    BadLayerCase("TopK", "type: 'Accuracy' accuracy_param { top_k: 3 }")
        .Bottom({4, 2})
        .Labels({4}, 2)
        .Says("top_k is 3 for 2 classes"),
};
INSTANTIATE_TEST_SUITE_P(Accuracy, BadLayerCases, ::testing::ValuesIn(kAccuracyBadCases),
                         CaseName());
}  // namespace
}  // namespace caffe
