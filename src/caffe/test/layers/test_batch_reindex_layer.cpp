#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kBatchReindexCases = {
    LayerCase("Images", "type: 'BatchReindex'")
        .Bottom({5, kOddC, kOddH})
        .Labels({kOddN}, 5)
        .Terms(11)
        .Detour({{7, kOddC, kOddH}, {kOddN}}),
    LayerCase("Numbers", "type: 'BatchReindex'").Bottom({3}).Labels({7}, 3).Terms(7),
};
INSTANTIATE_TEST_SUITE_P(BatchReindex, LayerCases, ::testing::ValuesIn(kBatchReindexCases),
                         CaseName());

const std::vector<BadLayerCase> kBatchReindexBadCases = {
    BadLayerCase("Axes", "type: 'BatchReindex'")
        .Bottom({2, 3})
        .Bottom({2, 1})
        .Says("takes indices of 1 axis"),
    BadLayerCase("Scalar", "type: 'BatchReindex'")
        .Bottom({})
        .Bottom({2})
        .Says("a bottom 0 of 1 axis or more"),
    BadLayerCase("Large", "type: 'BatchReindex'")
        .Bottom({2, 3})
        .Labels({2}, 1, {0, 2})
        .InForward()
        .Says("index 2 at place 1 is not a whole number in \\[0, 2\\)"),
    BadLayerCase("Negative", "type: 'BatchReindex'")
        .Bottom({2, 3})
        .Labels({1}, 1, {-1})
        .InForward()
        .Says("index -1 at place 0"),
};
INSTANTIATE_TEST_SUITE_P(BatchReindex, BadLayerCases, ::testing::ValuesIn(kBatchReindexBadCases),
                         CaseName());

TEST(BatchReindexValues, ItemsMayRepeat) {
  Example example("type: 'BatchReindex'");
  example.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).Bottom({4}, {2, 0, 2, 2}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{5, 6, 1, 2, 5, 6, 5, 6}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 10, 20, 100, 200}), (Floats{3, 4, 0, 0, 111, 222}));
}

}  // namespace
}  // namespace caffe
