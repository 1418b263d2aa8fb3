#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kSoftmaxLossCases = {
    LayerCase("Plain", "type: 'SoftmaxWithLoss'").Bottom({4, 5}).Labels({4}, 5),
    LayerCase("Spatial", "type: 'SoftmaxWithLoss' loss_param { normalization: FULL }")
        .Bottom({2, 3, 2, 2})
        .Labels({2, 1, 2, 2}, 3),
    LayerCase("Ignored", "type: 'SoftmaxWithLoss' loss_param { ignore_label: 1 }")
        .Bottom({6, 3})
        .Labels({6}, 3),
    LayerCase("BatchSize", "type: 'SoftmaxWithLoss' loss_param { normalize: false }")
        .Bottom({2, 3, 4})
        .Labels({2, 4}, 3),
    LayerCase("Sum", "type: 'SoftmaxWithLoss' loss_param { normalization: NONE }")
        .Bottom({3, 4})
        .Labels({3}, 4),
    LayerCase("Smoothed", "type: 'SoftmaxWithLoss' loss_param { label_smoothing: 0.25 }")
        .Bottom({3, 4})
        .Labels({3}, 4),
};
INSTANTIATE_TEST_SUITE_P(SoftmaxWithLoss, LayerCases, ::testing::ValuesIn(kSoftmaxLossCases),
                         CaseName());

const std::vector<BadLayerCase> kSoftmaxLossBadCases = {
    BadLayerCase("Label", "type: 'SoftmaxWithLoss'")
        .Bottom({4, 2})
        .Labels({4}, 1000)
        .InForward()
        .Says("label number [0-9]+ is [0-9]+: with 2 classes valid are 0 to 1"),
    BadLayerCase("Labels", "type: 'SoftmaxWithLoss'")
        .Bottom({4, 2, 3})
        .Labels({4}, 2)
        .Says("one label for each of the 12 predictions"),
    BadLayerCase("Numbers", "type: 'SoftmaxWithLoss'")
        .Bottom({4, 2})
        .Labels({3}, 2)
        .Says("differ in number"),
    BadLayerCase("Smoothing", "type: 'SoftmaxWithLoss' loss_param { label_smoothing: 1 }")
        .Bottom({4, 2})
        .Labels({4}, 2)
        .Says("label_smoothing"),
};
INSTANTIATE_TEST_SUITE_P(SoftmaxWithLoss, BadLayerCases, ::testing::ValuesIn(kSoftmaxLossBadCases),
                         CaseName());
}  // namespace
}  // namespace caffe
