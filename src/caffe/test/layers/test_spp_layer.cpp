#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

// Small enough that values stay different as FLOAT16.
const std::vector<LayerCase> kSppCases = {
    LayerCase("Max", "type: 'SPP' spp_param { pyramid_height: 3 }")
        .Bottom({2, 3, 9, 12}, Fill::DISTINCT)
        .Terms(12),
    LayerCase("Average", "type: 'SPP' spp_param { pyramid_height: 3 pool: AVE }")
        .Bottom({2, 3, 10, 15})
        .Terms(150),
    LayerCase("OneLevel", "type: 'SPP' spp_param { pyramid_height: 1 }")
        .Bottom({2, 3, kOddH, kOddW}, Fill::DISTINCT)
        .Terms(1),
};
INSTANTIATE_TEST_SUITE_P(SPP, LayerCases, ::testing::ValuesIn(kSppCases), CaseName());

const std::vector<BadLayerCase> kSppBadCases = {
    BadLayerCase("NoLevels", "type: 'SPP'").Bottom({1, 1, 4, 4}).Says("must be 1 to 15, got 0"),
    BadLayerCase("ManyLevels", "type: 'SPP' spp_param { pyramid_height: 40 }")
        .Bottom({1, 1, 4, 4})
        .Says("got 40"),
    BadLayerCase("Small", "type: 'SPP' spp_param { pyramid_height: 3 }")
        .Bottom({1, 1, 5, 8})
        .Says("level 2 of pyramid_height cuts an image of extent 5 into 4 windows"),
    BadLayerCase("Stochastic", "type: 'SPP' spp_param { pyramid_height: 1 pool: STOCHASTIC }")
        .Bottom({1, 1, 5, 8})
        .Says("pool STOCHASTIC is not available: use MAX or AVE"),
    BadLayerCase("Axes", "type: 'SPP' spp_param { pyramid_height: 1 }")
        .Bottom({1, 1, 5})
        .Says("a bottom of 4 axes"),
};
INSTANTIATE_TEST_SUITE_P(SPP, BadLayerCases, ::testing::ValuesIn(kSppBadCases), CaseName());

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
