#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Images",
     "type: 'Axpy'",
     {{{kOddN, kOddC, 1, 1}}, {{kOddN, kOddC, kOddH, kOddW}}, {{kOddN, kOddC, kOddH, kOddW}}}},
    {"Factors",
     "type: 'Axpy'",
     {{{kOddN, kOddC}}, {{kOddN, kOddC, kOddH, kOddW}}, {{kOddN, kOddC, kOddH, kOddW}}}},
    {"Rows", "type: 'Axpy'", {{{kOddN, kOddC}}, {{kOddN, kOddC}}, {{kOddN, kOddC}}}},
};
INSTANTIATE_TEST_SUITE_P(Axpy, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Channels",
     "type: 'Axpy'",
     {{{2, 4}}, {{2, 3, 2, 2}}, {{2, 3, 2, 2}}},
     "one factor for each image and channel: bottom 0 is 2 4"},
    {"Places",
     "type: 'Axpy'",
     {{{2, 3, 2, 2}}, {{2, 3, 2, 2}}, {{2, 3, 2, 2}}},
     "one factor for each image and channel"},
    {"Summand",
     "type: 'Axpy'",
     {{{2, 3}}, {{2, 3, 2, 2}}, {{2, 3, 4}}},
     "bottoms 1 and 2 of one shape"},
    {"TwoBottoms", "type: 'Axpy'", {{{2, 3}}, {{2, 3}}}, "exactly 3 bottom"},
};
INSTANTIATE_TEST_SUITE_P(Axpy, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(AxpyValues, ScalesChannelsAndAdds) {
  Example example("type: 'Axpy'");
  example.Bottom({1, 2}, {10, -1}).Bottom({1, 2, 2}, {1, 2, 3, 4}).Bottom({1, 2, 2}, {5, 6, 7, 8});
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{15, 26, 4, 4}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 0), (Floats{5, 25}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 1), (Floats{10, 20, -3, -4}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 2), (Floats{1, 2, 3, 4}));
}

}  // namespace
}  // namespace caffe
