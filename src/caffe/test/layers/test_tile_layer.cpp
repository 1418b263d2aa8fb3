#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Channels",
     "type: 'Tile' tile_param { tiles: 3 }",
     {{{kOddN, kOddC, kOddH}}},
     1,
     false,
     true,
     1,
     3},
    {"Batch",
     "type: 'Tile' tile_param { axis: 0 tiles: 2 }",
     {{{kOddN, kOddC}}},
     1,
     false,
     true,
     1,
     2},
    {"Last",
     "type: 'Tile' tile_param { axis: -1 tiles: 5 }",
     {{{kOddN, kOddC, kOddW}}},
     1,
     false,
     true,
     1,
     5},
    {"Once", "type: 'Tile' tile_param { tiles: 1 }", {{{kOddN, kOddC}}}, 1, false, true, 1, 1},
};
INSTANTIATE_TEST_SUITE_P(Tile, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Without", "type: 'Tile'", {{{2, 3}}}, "tile_param: tiles is how often to repeat"},
    {"Zero", "type: 'Tile' tile_param { tiles: 0 }", {{{2, 3}}}, "at least 1, got 0"},
    {"Axis",
     "type: 'Tile' tile_param { axis: 2 tiles: 2 }",
     {{{2, 3}}},
     "tile_param: axis 2 is out of range"},
    {"Huge",
     "type: 'Tile' tile_param { tiles: 2147483647 }",
     {{{2, 3}}},
     "Tile: an axis of the top would have 6442450941 entries"},
};
INSTANTIATE_TEST_SUITE_P(Tile, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(TileValues, RepeatsBlocks) {
  Example example("type: 'Tile' tile_param { tiles: 2 }");
  example.Bottom({2, 2}, {1, 2, 3, 4}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(example.Backward({1, 2, 10, 20, 3, 4, 30, 40}), (Floats{11, 22, 33, 44}));
}

}  // namespace
}  // namespace caffe
