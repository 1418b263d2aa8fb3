#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Plain",
     "type: 'Accuracy'",
     {{{10, 4}, Fill::DISTINCT, false}, {{10}, Fill::LABELS, false, 4}},
     1,
     false,
     false},
    {"TopTwoPerClass",
     "type: 'Accuracy' accuracy_param { top_k: 2 }",
     {{{10, 4, 3}, Fill::DISTINCT, false}, {{10, 3}, Fill::LABELS, false, 4}},
     2,
     false,
     false},
    {"Ignored",
     "type: 'Accuracy' accuracy_param { ignore_label: 0 }",
     {{{10, 4}, Fill::DISTINCT, false}, {{10}, Fill::LABELS, false, 4}},
     1,
     false,
     false},
};
INSTANTIATE_TEST_SUITE_P(Accuracy, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Label",
     "type: 'Accuracy'",
     {{{4, 2}}, {{4}, Fill::LABELS, false, 1000}},
     "label number [0-9]+ is [0-9]+",
     1,
     true},
    {"TopK",
     "type: 'Accuracy' accuracy_param { top_k: 3 }",
     {{{4, 2}}, {{4}, Fill::LABELS, false, 2}},
     "top_k is 3 for 2 classes"},
};
INSTANTIATE_TEST_SUITE_P(Accuracy, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());
}  // namespace
}  // namespace caffe
