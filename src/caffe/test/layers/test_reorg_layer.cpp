// Reorg and ShuffleChannel.
#include <numeric>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kReorgCases = {
    LayerCase("Reorg", "type: 'Reorg' reorg_param { stride: 2 }").Bottom({2, 8, 4, 6}),
    LayerCase("ReorgByThree", "type: 'Reorg' reorg_param { stride: 3 }").Bottom({1, 9, 3, 6}),
    LayerCase("ReorgReverse", "type: 'Reorg' reorg_param { stride: 2 reverse: true }")
        .Bottom({kOddN, 8, kOddH, kOddW}),
    LayerCase("ReorgByOne", "type: 'Reorg' reorg_param { stride: 1 }").Bottom({2, 3, 2, 3}),
    LayerCase("Shuffle", "type: 'ShuffleChannel' shuffle_channel_param { group: 3 }")
        .Bottom({kOddN, 6, kOddH, kOddW}),
    LayerCase("ShuffleTwoAxes", "type: 'ShuffleChannel' shuffle_channel_param { group: 2 }")
        .Bottom({3, 8}),
    LayerCase("ShuffleOneGroup", "type: 'ShuffleChannel'").Bottom({2, kOddC, 3}),
};
INSTANTIATE_TEST_SUITE_P(Reorder, LayerCases, ::testing::ValuesIn(kReorgCases), CaseName());

const std::vector<BadLayerCase> kReorgBadCases = {
    BadLayerCase("NoStride", "type: 'Reorg'")
        .Bottom({1, 4, 2, 2})
        .Says("reorg_param: stride is missing"),
    BadLayerCase("ZeroStride", "type: 'Reorg' reorg_param { stride: 0 }")
        .Bottom({1, 4, 2, 2})
        .Says("got 0"),
    BadLayerCase("Channels", "type: 'Reorg' reorg_param { stride: 2 }")
        .Bottom({1, 6, 2, 2})
        .Says("has 6 channels: they must be a multiple of stride . stride, 4"),
    BadLayerCase("Positions", "type: 'Reorg' reorg_param { stride: 2 }")
        .Bottom({1, 4, 3, 2})
        .Says("has 3 x 2 positions: both must be multiples of stride, 2"),
    BadLayerCase("ReorgAxes", "type: 'Reorg' reorg_param { stride: 2 }")
        .Bottom({4, 2, 2})
        .Says("4 axes"),
    BadLayerCase("Group", "type: 'ShuffleChannel' shuffle_channel_param { group: 4 }")
        .Bottom({1, 6, 2, 2})
        .Says("group 4 does not divide the bottom's 6 channels"),
    BadLayerCase("ZeroGroup", "type: 'ShuffleChannel' shuffle_channel_param { group: 0 }")
        .Bottom({1, 6, 2, 2})
        .Says("group must be positive, got 0"),
    BadLayerCase("ShuffleAxes", "type: 'ShuffleChannel'").Bottom({6}).Says("2 axes"),
};
INSTANTIATE_TEST_SUITE_P(Reorder, BadLayerCases, ::testing::ValuesIn(kReorgBadCases), CaseName());

Floats Count(int n) {
  Floats values(n);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

// As Darknet does it: the input is read as one plane of 4 x 4.
TEST(ReorgValues, TakesPhasesOfLargerPlanes) {
  Example example("type: 'Reorg' reorg_param { stride: 2 }");
  example.Bottom({1, 4, 2, 2}, Count(16)).SetUp();
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 16, 1, 1}));
  EXPECT_EQ(example.Forward(), (Floats{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}));
}

TEST(ReorgValues, ReverseMakesPlanesOfChannels) {
  Example example("type: 'Reorg' reorg_param { stride: 2 reverse: true }");
  example.Bottom({1, 4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31}).SetUp();
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 1, 2, 4}));
  EXPECT_EQ(example.Forward(), (Floats{0, 10, 1, 11, 20, 30, 21, 31}));
}

TEST(ShuffleChannelValues, InterleavesGroups) {
  Example example("type: 'ShuffleChannel' shuffle_channel_param { group: 2 }");
  example.Bottom({1, 6, 1, 2}, Count(12)).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
}

}  // namespace
}  // namespace caffe
