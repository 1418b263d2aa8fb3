#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kSplitCases = {
    LayerCase("Two", "type: 'Split'").Bottom({2, 3}).Tops(2),
    LayerCase("Four", "type: 'Split'").Bottom({2, 3, 5}).Tops(4),
};
INSTANTIATE_TEST_SUITE_P(Split, LayerCases, ::testing::ValuesIn(kSplitCases), CaseName());

}  // namespace
}  // namespace caffe
