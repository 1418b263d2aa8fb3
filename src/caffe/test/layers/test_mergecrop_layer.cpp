#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Both",
     "type: 'MergeCrop' mergecrop_param { backward: true backward: true }",
     {{{kOddN, kOddC, 3, 4}}, {{kOddN, 2, 6, 4}}},
     1,
     false,
     true,
     1,
     1},
    {"Volumes",
     "type: 'MergeCrop' mergecrop_param { backward: true backward: true }",
     {{{2, 1, 1, 2, 3}}, {{2, 2, 3, 2, 4}}},
     1,
     false,
     true,
     1,
     1},
    {"ByDefaultTheFirstHasTheGradient",
     "type: 'MergeCrop'",
     {{{kOddN, kOddC, 3}}, {{kOddN, kOddH, 5}, Fill::GAUSSIAN, false}},
     1,
     false,
     true,
     1,
     1},
    {"OneOnly",
     "type: 'MergeCrop' mergecrop_param { forward: false forward: true backward: false backward: "
     "true }",
     {{{kOddN, kOddC, 3}}, {{kOddN, kOddH, 5}}},
     1,
     false,
     true,
     1,
     1},
};
INSTANTIATE_TEST_SUITE_P(MergeCrop, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Small",
     "type: 'MergeCrop'",
     {{{1, 1, 3, 3}}, {{1, 1, 3, 2}}},
     "the second one at least as large as the first: they are 1 1 3 3"},
    {"Batch", "type: 'MergeCrop'", {{{1, 1, 3, 3}}, {{2, 1, 3, 3}}}, "bottoms .* of one batch"},
    {"Axes", "type: 'MergeCrop'", {{{1, 1, 3, 3}}, {{1, 1, 3}}}, "of one batch"},
    {"Forward",
     "type: 'MergeCrop' mergecrop_param { forward: true }",
     {{{1, 1, 3}}, {{1, 1, 3}}},
     "forward is given 1 time\\(s\\): give it once per bottom"},
    {"Backward",
     "type: 'MergeCrop' mergecrop_param { backward: 1 backward: 1 backward: 1 }",
     {{{1, 1, 3}}, {{1, 1, 3}}},
     "backward is given 3 time\\(s\\)"},
};
INSTANTIATE_TEST_SUITE_P(MergeCrop, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(MergeCropValues, TheMiddleOfTheSecondBehindTheFirst) {
  Example example("type: 'MergeCrop'");
  example.Bottom({1, 1, 1, 2}, {1, 2}).Bottom({1, 1, 2, 5}, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 4, 5}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 0), (Floats{1, 2}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 1), Floats(10, 0)) << "none by default";
}

}  // namespace
}  // namespace caffe
