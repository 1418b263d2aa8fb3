#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string Unpooling(const std::string& param) {
  return "type: 'UnPooling' pooling_param { " + param + " }";
}

LayerCase Case(const std::string& name, const std::string& prototxt,
               const std::vector<Bottom>& bottoms) {
  LayerCase c;
  c.name = name;
  c.prototxt = prototxt;
  c.bottoms = bottoms;
  return c;
}

const Bottom kValues = {{1, 2, 2, 3}};
// Pooling of 2 x 2 windows of a 4 x 6 plane: one position in each.
const Bottom kMask = {{1, 2, 2, 3},
                      Fill::LABELS,
                      false,
                      24,
                      {0, 9, 4, 12, 14, 23,  //
                       7, 2, 11, 13, 21, 16}};
const Bottom kSize = {{1, 1, 5, 6}, Fill::GAUSSIAN, false};

const std::vector<LayerCase> kCases = {
    Case("ByThePooling", Unpooling("kernel_size: 2 stride: 2"), {kValues, kMask}),
    Case("PerAxis", Unpooling("kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2"), {kValues, kMask}),
    Case("StrideAndPadOfOneAxis", Unpooling("kernel_size: 2 stride_w: 2 pad_h: 1"),
         {kValues, {{1, 2, 2, 3}, Fill::LABELS, false, 6, {0, 3, 1, 5, 2, 4, 5, 4, 0, 2, 1, 3}}}),
    Case("ByAThirdBottom", "type: 'Unpooling'", {kValues, kMask, kSize}),
};
INSTANTIATE_TEST_SUITE_P(UnPooling, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"NoSize", "type: 'UnPooling'", {kValues, kMask}, "give kernel_size, or kernel_h and kernel_w"},
    {"Average", Unpooling("pool: AVE kernel_size: 2"), {kValues, kMask}, "undoes pool: MAX only"},
    {"Mask", Unpooling("kernel_size: 2"), {kValues, {{1, 1, 2, 3}}}, "the mask has shape 1 1 2 3"},
    {"Axes", Unpooling("kernel_size: 2"), {{{2, 3}}, {{2, 3}}}, "4 axes"},
    {"Size", "type: 'UnPooling'", {kValues, kMask, {{5, 6}}}, "bottom 2, .* must have 4 axes"},
    {"PadsAll", Unpooling("kernel_size: 2 pad: 3"), {kValues, kMask}, "the height .* would be -3"},
    {"Huge", Unpooling("kernel_size: 4294967295"), {kValues, kMask}, "the height .* would be"},
};
INSTANTIATE_TEST_SUITE_P(UnPooling, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(UnPoolingValues, PutsEachValueWhereItCameFrom) {
  Example example(Unpooling("kernel_size: 2 stride: 2"));
  example.Bottom({1, 1, 1, 2}, {5, 7}).Bottom({1, 1, 1, 2}, {4, 3}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0, 0, 7, 5, 0, 0, 0}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5, 6, 7, 8}), (Floats{5, 4}));
}

}  // namespace
}  // namespace caffe
