#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kTileCases = {
    LayerCase("Channels", "type: 'Tile' tile_param { tiles: 3 }")
        .Bottom({kOddN, kOddC, kOddH})
        .Terms(3),
    LayerCase("Batch", "type: 'Tile' tile_param { axis: 0 tiles: 2 }")
        .Bottom({kOddN, kOddC})
        .Terms(2),
    LayerCase("Last", "type: 'Tile' tile_param { axis: -1 tiles: 5 }")
        .Bottom({kOddN, kOddC, kOddW})
        .Terms(5),
    LayerCase("Once", "type: 'Tile' tile_param { tiles: 1 }").Bottom({kOddN, kOddC}).Terms(1),
};
INSTANTIATE_TEST_SUITE_P(Tile, LayerCases, ::testing::ValuesIn(kTileCases), CaseName());

const std::vector<BadLayerCase> kTileBadCases = {
    BadLayerCase("Without", "type: 'Tile'")
        .Bottom({2, 3})
        .Says("tile_param: tiles is how often to repeat"),
    BadLayerCase("Zero", "type: 'Tile' tile_param { tiles: 0 }")
        .Bottom({2, 3})
        .Says("at least 1, got 0"),
    BadLayerCase("Axis", "type: 'Tile' tile_param { axis: 2 tiles: 2 }")
        .Bottom({2, 3})
        .Says("tile_param: axis 2 is out of range"),
    BadLayerCase("Huge", "type: 'Tile' tile_param { tiles: 2147483647 }")
        .Bottom({2, 3})
        .Says("Tile: an axis of the top would have 6442450941 entries"),
};
INSTANTIATE_TEST_SUITE_P(Tile, BadLayerCases, ::testing::ValuesIn(kTileBadCases), CaseName());

TEST(TileValues, RepeatsBlocks) {
  Example example("type: 'Tile' tile_param { tiles: 2 }");
  example.Bottom({2, 2}, {1, 2, 3, 4}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(example.Backward({1, 2, 10, 20, 3, 4, 30, 40}), (Floats{11, 22, 33, 44}));
}

}  // namespace
}  // namespace caffe
