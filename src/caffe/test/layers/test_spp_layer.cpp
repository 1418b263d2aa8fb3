#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

// Small enough that values stay different as FLOAT16.
const std::vector<LayerCase> kCases = {
    {"Max",
     "type: 'SPP' spp_param { pyramid_height: 3 }",
     {{{2, 3, 9, 12}, Fill::DISTINCT}},
     1,
     false,
     true,
     1,
     12},
    {"Average",
     "type: 'SPP' spp_param { pyramid_height: 3 pool: AVE }",
     {{{2, 3, 10, 15}}},
     1,
     false,
     true,
     1,
     150},
    {"OneLevel",
     "type: 'SPP' spp_param { pyramid_height: 1 }",
     {{{2, 3, kOddH, kOddW}, Fill::DISTINCT}},
     1,
     false,
     true,
     1,
     1},
};
INSTANTIATE_TEST_SUITE_P(SPP, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"NoLevels", "type: 'SPP'", {{{1, 1, 4, 4}}}, "must be 1 to 15, got 0"},
    {"ManyLevels", "type: 'SPP' spp_param { pyramid_height: 40 }", {{{1, 1, 4, 4}}}, "got 40"},
    {"Small",
     "type: 'SPP' spp_param { pyramid_height: 3 }",
     {{{1, 1, 5, 8}}},
     "level 2 of pyramid_height cuts an image of extent 5 into 4 windows"},
    {"Stochastic",
     "type: 'SPP' spp_param { pyramid_height: 1 pool: STOCHASTIC }",
     {{{1, 1, 5, 8}}},
     "pool STOCHASTIC is not available: use MAX or AVE"},
    {"Axes", "type: 'SPP' spp_param { pyramid_height: 1 }", {{{1, 1, 5}}}, "a bottom of 4 axes"},
};
INSTANTIATE_TEST_SUITE_P(SPP, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

// The whole image, then its quarters, of the first channel before the second.
TEST(SppValues, LevelsStandOneBehindAnother) {
  Example example("type: 'SPP' spp_param { pyramid_height: 2 }");
  example.Bottom({1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{4, 8, 1, 2, 3, 4, 8, 7, 6, 5}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 10}));
  EXPECT_EQ(example.Backward({10, 20, 1, 2, 3, 4, 5, 6, 7, 8}), (Floats{1, 2, 3, 14, 25, 6, 7, 8}));
}

TEST(SppValues, OneLevelKeepsTheAxes) {
  Example example("type: 'SPP' spp_param { pyramid_height: 1 pool: AVE }");
  example.Bottom({1, 1, 1, 2}, {1, 3}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{2}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace caffe
