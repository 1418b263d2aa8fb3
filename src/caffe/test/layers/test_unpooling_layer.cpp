#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::string Unpooling(const std::string& param) {
  return "type: 'UnPooling' pooling_param { " + param + " }";
}

const Bottom kValues({1, 2, 2, 3});
// Pooling of 2 x 2 windows of a 4 x 6 plane: one position in each.
const Bottom kUnpoolingMask = Bottom({1, 2, 2, 3})
                                  .Labels(24)
                                  .Values({0, 9, 4, 12, 14, 23,  //
                                           7, 2, 11, 13, 21, 16})
                                  .WithoutGradient();
const Bottom kSize = Bottom({1, 1, 5, 6}).WithoutGradient();

const std::vector<LayerCase> kUnpoolingCases = {
    LayerCase("ByThePooling", Unpooling("kernel_size: 2 stride: 2"))
        .Bottom(kValues)
        .Bottom(kUnpoolingMask),
    LayerCase("PerAxis", Unpooling("kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2"))
        .Bottom(kValues)
        .Bottom(kUnpoolingMask),
    LayerCase("StrideAndPadOfOneAxis", Unpooling("kernel_size: 2 stride_w: 2 pad_h: 1"))
        .Bottom(kValues)
        .Labels({1, 2, 2, 3}, 6, {0, 3, 1, 5, 2, 4, 5, 4, 0, 2, 1, 3}),
    LayerCase("ByAThirdBottom", "type: 'Unpooling'")
        .Bottom(kValues)
        .Bottom(kUnpoolingMask)
        .Bottom(kSize),
};
INSTANTIATE_TEST_SUITE_P(UnPooling, LayerCases, ::testing::ValuesIn(kUnpoolingCases), CaseName());

const std::vector<BadLayerCase> kUnpoolingBadCases = {
    BadLayerCase("NoSize", "type: 'UnPooling'")
        .Bottom(kValues)
        .Bottom(kUnpoolingMask)
        .Says("give kernel_size, or kernel_h and kernel_w"),
    BadLayerCase("Average", Unpooling("pool: AVE kernel_size: 2"))
        .Bottom(kValues)
        .Bottom(kUnpoolingMask)
        .Says("undoes pool: MAX only"),
    BadLayerCase("Mask", Unpooling("kernel_size: 2"))
        .Bottom(kValues)
        .Bottom({1, 1, 2, 3})
        .Says("the mask has shape 1 1 2 3"),
    BadLayerCase("Axes", Unpooling("kernel_size: 2")).Bottom({2, 3}).Bottom({2, 3}).Says("4 axes"),
    BadLayerCase("Size", "type: 'UnPooling'")
        .Bottom(kValues)
        .Bottom(kUnpoolingMask)
        .Bottom({5, 6})
        .Says("bottom 2, .* must have 4 axes"),
    BadLayerCase("PadsAll", Unpooling("kernel_size: 2 pad: 3"))
        .Bottom(kValues)
        .Bottom(kUnpoolingMask)
        .Says("the height .* would be -3"),
    BadLayerCase("Huge", Unpooling("kernel_size: 4294967295"))
        .Bottom(kValues)
        .Bottom(kUnpoolingMask)
        .Says("the height .* would be"),
};
INSTANTIATE_TEST_SUITE_P(UnPooling, BadLayerCases, ::testing::ValuesIn(kUnpoolingBadCases),
                         CaseName());

TEST(UnPoolingValues, PutsEachValueWhereItCameFrom) {
  Example example(Unpooling("kernel_size: 2 stride: 2"));
  example.Bottom({1, 1, 1, 2}, {5, 7}).Bottom({1, 1, 1, 2}, {4, 3}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0, 0, 7, 5, 0, 0, 0}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5, 6, 7, 8}), (Floats{5, 4}));
}

}  // namespace
}  // namespace caffe
