#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Images",
     "type: 'BatchReindex'",
     {{{5, kOddC, kOddH}}, {{kOddN}, Fill::LABELS, false, 5}},
     1,
     false,
     true,
     1,
     11,
     {{7, kOddC, kOddH}, {kOddN}}},
    {"Numbers",
     "type: 'BatchReindex'",
     {{{3}}, {{7}, Fill::LABELS, false, 3}},
     1,
     false,
     true,
     1,
     7},
};
INSTANTIATE_TEST_SUITE_P(BatchReindex, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Axes", "type: 'BatchReindex'", {{{2, 3}}, {{2, 1}}}, "takes indices of 1 axis"},
    {"Scalar", "type: 'BatchReindex'", {{{}}, {{2}}}, "a bottom 0 of 1 axis or more"},
    {"Large",
     "type: 'BatchReindex'",
     {{{2, 3}}, {{2}, Fill::LABELS, false, 1, {0, 2}}},
     "index 2 at place 1 is not a whole number in \\[0, 2\\)",
     1,
     true},
    {"Negative",
     "type: 'BatchReindex'",
     {{{2, 3}}, {{1}, Fill::LABELS, false, 1, {-1}}},
     "index -1 at place 0",
     1,
     true},
};
INSTANTIATE_TEST_SUITE_P(BatchReindex, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(BatchReindexValues, ItemsMayRepeat) {
  Example example("type: 'BatchReindex'");
  example.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).Bottom({4}, {2, 0, 2, 2}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{5, 6, 1, 2, 5, 6, 5, 6}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 10, 20, 100, 200}), (Floats{3, 4, 0, 0, 111, 222}));
}

}  // namespace
}  // namespace caffe
