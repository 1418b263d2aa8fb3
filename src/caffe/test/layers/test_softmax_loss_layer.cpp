#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Plain", "type: 'SoftmaxWithLoss'", {{{4, 5}}, {{4}, Fill::LABELS, false, 5}}},
    {"Spatial",
     "type: 'SoftmaxWithLoss' loss_param { normalization: FULL }",
     {{{2, 3, 2, 2}}, {{2, 1, 2, 2}, Fill::LABELS, false, 3}}},
    {"Ignored",
     "type: 'SoftmaxWithLoss' loss_param { ignore_label: 1 }",
     {{{6, 3}}, {{6}, Fill::LABELS, false, 3}}},
    {"BatchSize",
     "type: 'SoftmaxWithLoss' loss_param { normalize: false }",
     {{{2, 3, 4}}, {{2, 4}, Fill::LABELS, false, 3}}},
    {"Sum",
     "type: 'SoftmaxWithLoss' loss_param { normalization: NONE }",
     {{{3, 4}}, {{3}, Fill::LABELS, false, 4}}},
    {"Smoothed",
     "type: 'SoftmaxWithLoss' loss_param { label_smoothing: 0.25 }",
     {{{3, 4}}, {{3}, Fill::LABELS, false, 4}}},
};
INSTANTIATE_TEST_SUITE_P(SoftmaxWithLoss, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Label",
     "type: 'SoftmaxWithLoss'",
     {{{4, 2}}, {{4}, Fill::LABELS, false, 1000}},
     "label number [0-9]+ is [0-9]+: with 2 classes valid are 0 to 1",
     1,
     true},
    {"Labels",
     "type: 'SoftmaxWithLoss'",
     {{{4, 2, 3}}, {{4}, Fill::LABELS, false, 2}},
     "one label for each of the 12 predictions"},
    {"Numbers",
     "type: 'SoftmaxWithLoss'",
     {{{4, 2}}, {{3}, Fill::LABELS, false, 2}},
     "differ in number"},
    {"Smoothing",
     "type: 'SoftmaxWithLoss' loss_param { label_smoothing: 1 }",
     {{{4, 2}}, {{4}, Fill::LABELS, false, 2}},
     "label_smoothing"},
};
INSTANTIATE_TEST_SUITE_P(SoftmaxWithLoss, BadLayerCases, ::testing::ValuesIn(kBadCases),
                         CaseName());
}  // namespace
}  // namespace caffe
