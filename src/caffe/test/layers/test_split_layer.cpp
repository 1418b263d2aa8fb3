#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Two", "type: 'Split'", {{{2, 3}}}, 2},
    {"Four", "type: 'Split'", {{{2, 3, 5}}}, 4},
};
INSTANTIATE_TEST_SUITE_P(Split, LayerCases, ::testing::ValuesIn(kCases), CaseName());

}  // namespace
}  // namespace caffe
