// Interp, Resample and Upsample.
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

using Shapes = std::vector<int>;

const Bottom kOdd({2, 3, kOddH, kOddW});
const Bottom kLikeThis = Bottom({2, 1, 4, 7}).WithoutGradient();

std::string Interp(const std::string& param) {
  return "type: 'Interp' interp_param { " + param + " }";
}
std::string Resample(const std::string& param) {
  return "type: 'Resample' resample_param { " + param + " }";
}
std::string Upsample(const std::string& param) {
  return "type: 'Upsample' upsample_param { " + param + " }";
}

const std::vector<LayerCase> kInterpCases = {
    LayerCase("Size", Interp("height: 7 width: 5")).Bottom(kOdd),
    LayerCase("OnePosition", Interp("height: 1 width: 1")).Bottom(kOdd),
    LayerCase("Zoom", Interp("zoom_factor: 3")).Bottom(kOdd),
    LayerCase("Shrink", Interp("shrink_factor: 2")).Bottom({2, 3, 7, 8}),
    LayerCase("ShrinkAndZoom", Interp("shrink_factor: 3 zoom_factor: 2")).Bottom({2, 3, 7, 8}),
    LayerCase("Crop", Interp("height: 5 width: 6 pad_beg: -1 pad_end: -2")).Bottom({2, 3, 6, 7}),
    LayerCase("SameSize", Interp("height: 6 width: 7")).Bottom({2, 3, 6, 7}),
    LayerCase("SecondBottom", "type: 'Interp'").Bottom({2, 3, 5, 6}).Bottom(kLikeThis),
};
INSTANTIATE_TEST_SUITE_P(Interp, LayerCases, ::testing::ValuesIn(kInterpCases), CaseName());

const std::vector<LayerCase> kResampleCases = {
    LayerCase("NearestTwice", Resample("type: NEAREST antialias: false factor: 2")).Bottom(kOdd),
    LayerCase("NearestSmaller", Resample("type: NEAREST height: 3 width: 2")).Bottom({2, 3, 7, 9}),
    LayerCase("Linear", Resample("height: 9 width: 10")).Bottom(kOdd),
    LayerCase("LinearSmaller", Resample("height: 3 width: 5")).Bottom({2, 3, 8, 9}),
    LayerCase("LinearAliased", Resample("height: 3 width: 5 antialias: false"))
        .Bottom({2, 3, 8, 9}),
    LayerCase("Cubic", Resample("type: CUBIC factor: 1.5")).Bottom({2, 3, 5, 6}),
    LayerCase("CubicSmaller", Resample("type: CUBIC height: 3 width: 2")).Bottom({2, 3, 9, 8}),
    LayerCase("SecondBottom", "type: 'Resample'").Bottom({2, 3, 5, 6}).Bottom(kLikeThis),
};
INSTANTIATE_TEST_SUITE_P(Resample, LayerCases, ::testing::ValuesIn(kResampleCases), CaseName());

// Pooling of 2 x 2 windows of a 4 x 6 plane: one position in each.
const Bottom kUpsampleMask = Bottom({1, 2, 2, 3})
                                 .Labels(24)
                                 .Values({0, 9, 4, 12, 14, 23,  //
                                          7, 2, 11, 13, 21, 16})
                                 .WithoutGradient();

const std::vector<LayerCase> kUpsampleCases = {
    LayerCase("Repeat", Upsample("scale: 2")).Bottom(kOdd),
    LayerCase("DefaultScale", "type: 'Upsample'").Bottom({1, 2, 3, 2}),
    LayerCase("RepeatPerAxis", Upsample("scale_h: 3 scale_w: 1")).Bottom({1, 2, 3, 2}),
    LayerCase("Unpool", Upsample("scale: 2")).Bottom({1, 2, 2, 3}).Bottom(kUpsampleMask),
    LayerCase("UnpoolToSize", Upsample("upsample_h: 5 upsample_w: 7"))
        .Bottom({1, 2, 2, 3})
        .Bottom(kUpsampleMask),
};
INSTANTIATE_TEST_SUITE_P(Upsample, LayerCases, ::testing::ValuesIn(kUpsampleCases), CaseName());

const Bottom kPlain({1, 2, 3, 4});
const std::vector<BadLayerCase> kResizeBadCases = {
    BadLayerCase("InterpNoSize", "type: 'Interp'")
        .Bottom(kPlain)
        .Says("interp_param: give one size"),
    BadLayerCase("InterpTwoSizes", Interp("zoom_factor: 2"))
        .Bottom(kPlain)
        .Bottom(kPlain)
        .Says("interp_param: give no size"),
    BadLayerCase("InterpHalfASize", Interp("height: 2"))
        .Bottom(kPlain)
        .Says("give both height and width"),
    BadLayerCase("InterpZero", Interp("height: 0 width: 2"))
        .Bottom(kPlain)
        .Says("the height of the output is 0"),
    BadLayerCase("InterpZoom", Interp("zoom_factor: 0"))
        .Bottom(kPlain)
        .Says("zoom_factor must be at least 1, got 0"),
    BadLayerCase("InterpShrink", Interp("shrink_factor: -1"))
        .Bottom(kPlain)
        .Says("shrink_factor must be at least 1"),
    BadLayerCase("InterpPad", Interp("zoom_factor: 2 pad_beg: 1"))
        .Bottom(kPlain)
        .Says("must not be positive, got 1"),
    BadLayerCase("InterpCropsAll", Interp("zoom_factor: 2 pad_beg: -2 pad_end: -1"))
        .Bottom(kPlain)
        .Says("leave 0 of the bottom's height 3"),
    BadLayerCase("InterpAxes", Interp("zoom_factor: 2")).Bottom({1, 2, 3}).Says("4 axes"),
    BadLayerCase("InterpHuge", Interp("zoom_factor: 2000000000"))
        .Bottom(kPlain)
        .Says("the height of the output is .*fit an int"),
    BadLayerCase("ResampleArea", Resample("type: AREA factor: 2"))
        .Bottom(kPlain)
        .Says("AREA is not available"),
    BadLayerCase("ResampleHalfASize", Resample("width: 2"))
        .Bottom(kPlain)
        .Says("give both height and width"),
    BadLayerCase("ResampleZero", Resample("width: 2 height: 0"))
        .Bottom(kPlain)
        .Says("the height of the output is 0"),
    BadLayerCase("ResampleFactor", Resample("factor: 0"))
        .Bottom(kPlain)
        .Says("factor must be positive"),
    BadLayerCase("ResampleSmallFactor", Resample("factor: 0.1"))
        .Bottom(kPlain)
        .Says("the height of the output is 0"),
    BadLayerCase("ResampleAxes", Resample("factor: 2")).Bottom({1, 2, 3}).Says("4 axes"),
    BadLayerCase("UpsampleZero", Upsample("scale: 0"))
        .Bottom(kPlain)
        .Says("scale must be at least 1, got 0"),
    BadLayerCase("UpsampleBoth", Upsample("scale: 2 scale_h: 2 scale_w: 2"))
        .Bottom(kPlain)
        .Says("not both"),
    BadLayerCase("UpsampleHalf", Upsample("scale_h: 2"))
        .Bottom(kPlain)
        .Says("give both scale_h and scale_w"),
    BadLayerCase("UpsampleSizeWithoutMask", Upsample("upsample_h: 6 upsample_w: 8"))
        .Bottom(kPlain)
        .Says("are for a second bottom, a mask: give scale alone"),
    BadLayerCase("UpsampleHalfASize", Upsample("upsample_h: 6"))
        .Bottom(kPlain)
        .Bottom(kPlain)
        .Says("give both upsample_h"),
    BadLayerCase("UpsamplePadOut", Upsample("scale: 3 pad_out_h: true"))
        .Bottom(kPlain)
        .Bottom(kPlain)
        .Says("pad_out is for scale 2, not 3"),
    BadLayerCase("UpsampleMaskShape", Upsample("scale: 2"))
        .Bottom(kPlain)
        .Bottom({1, 1, 3, 4})
        .Says("the mask has shape 1 1 3 4 .*where the bottom has 1 2 3 4"),
    BadLayerCase("UpsampleMaskOutside", Upsample("upsample_h: 2 upsample_w: 2"))
        .Bottom({1, 1, 1, 2})
        .Values({1, 1, 1, 2}, {3, 4})
        .InForward()
        .Says("the mask has position 4 where the output has 4 per channel"),
    BadLayerCase("UpsampleAxes", Upsample("scale: 2")).Bottom({1, 2, 3}).Says("4 axes"),
    BadLayerCase("UpsampleHuge", Upsample("scale: 2000000000")).Bottom(kPlain).Says("fit an int"),
    BadLayerCase("ResampleEmpty", "type: 'Resample' resample_param { factor: 2 }")
        .Bottom({1, 2, 0, 4})
        .Says("Resample takes no empty bottom: 1 2 0 4"),
    BadLayerCase("InterpNoPixels", Interp("height: 2 width: 2"))
        .Bottom({1, 2, 0, 0})
        .Says("leave 0 of the bottom's"),
    BadLayerCase("ResampleNoPixels", Resample("factor: 2"))
        .Bottom({1, 2, 0, 0})
        .Says("takes no empty bottom: 1 2 0 0"),
    BadLayerCase("UpsampleNoPixels", Upsample("scale: 2"))
        .Bottom({1, 2, 0, 0})
        .Says("the height of the output is 0"),
    BadLayerCase("InterpManyElements", Interp("height: 2147483647 width: 2"))
        .Bottom(kPlain)
        .Says("for a bottom of shape 1 2 3 4 .*has more than 2.31 - 1 elements"),
};
INSTANTIATE_TEST_SUITE_P(Resize, BadLayerCases, ::testing::ValuesIn(kResizeBadCases), CaseName());

TEST(InterpValues, CornersStayCorners) {
  Example example(Interp("height: 1 width: 5"));
  example.Bottom({1, 1, 1, 3}, {1, 3, 7}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 3, 5, 7}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5}), (Floats{2, 6, 7}));
}

TEST(InterpValues, InterpolatesInBothDirections) {
  Example example(Interp("zoom_factor: 2"));
  example.Bottom({1, 1, 2, 2}, {0, 2, 4, 10}).SetUp();
  EXPECT_EQ(example.TopShape(), (Shapes{1, 1, 3, 3}));
  EXPECT_EQ(example.Forward(), (Floats{0, 1, 2, 2, 4, 6, 4, 7, 10}));
}

TEST(InterpValues, SizesAreTheForks) {
  const auto size = [](const std::string& param) {
    return Example(Interp(param)).Bottom({1, 1, 10, 17}, Floats(170, 0)).SetUp().TopShape();
  };
  EXPECT_EQ(size("shrink_factor: 4"), (Shapes{1, 1, 3, 5}));
  EXPECT_EQ(size("zoom_factor: 4"), (Shapes{1, 1, 37, 65}));
  EXPECT_EQ(size("shrink_factor: 4 zoom_factor: 4"), (Shapes{1, 1, 9, 17}));
  EXPECT_EQ(size("shrink_factor: 4 zoom_factor: 4 height: 5 width: 6"), (Shapes{1, 1, 5, 6}));
  EXPECT_EQ(size("zoom_factor: 2 pad_beg: -1"), (Shapes{1, 1, 17, 31}));
}

TEST(InterpValues, CropsFirst) {
  Example example(Interp("height: 1 width: 3 pad_beg: -1 pad_end: -1"));
  example.Bottom({1, 1, 3, 4}, {0, 0, 0, 0, 9, 1, 3, 9, 0, 0, 0, 0}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 3}));
}

TEST(ResampleValues, LinearEnlarging) {
  Example example(Resample("factor: 2"));
  example.Bottom({1, 1, 1, 2}, {1, 3}).SetUp();
  EXPECT_EQ(example.TopShape(), (Shapes{1, 1, 2, 4}));
  EXPECT_EQ(example.Forward(), (Floats{1, 1.5, 2.5, 3, 1, 1.5, 2.5, 3}));
}

// Each axis is shifted by half the other one's ratio, as in FlowNet's: here by 0, not 1/2.
TEST(ResampleValues, ShrinkingSpreadsTheFilter) {
  Example example(Resample("height: 1 width: 2"));
  example.Bottom({1, 1, 1, 4}, {1, 2, 3, 4}).SetUp();
  const Floats y = example.Forward();
  EXPECT_FLOAT_EQ(y[0], 4 / 3.f);  // weights 1, 1/2
  EXPECT_FLOAT_EQ(y[1], 3);        // 1/2, 1, 1/2
}

TEST(ResampleValues, CubicWeights) {
  Example example(Resample("type: CUBIC height: 1 width: 4"));
  example.Bottom({1, 1, 1, 2}, {0, 1}).SetUp();
  // The ratio of the heights is 1: outputs lie at 0, 0.5, 1 and 1.5.
  const Floats y = example.Forward();
  EXPECT_FLOAT_EQ(y[0], 0);
  EXPECT_FLOAT_EQ(y[1], 0.5);
  EXPECT_FLOAT_EQ(y[2], 1);
  EXPECT_FLOAT_EQ(y[3], 0.5625f / (0.5625f - 0.0625f));
}

TEST(ResampleValues, NearestTwiceRepeats) {
  Example example(Resample("type: NEAREST antialias: false factor: 2"));
  example.Bottom({1, 1, 2, 2}, {1, 2, 3, 4}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
}

TEST(UpsampleValues, Repeats) {
  Example example(Upsample("scale: 2"));
  example.Bottom({1, 1, 2, 2}, {1, 2, 3, 4}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9}),
            (Floats{14, 22, 0, 9}));
}

TEST(UpsampleValues, UndoesAPooling) {
  Example pooling("type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }", 2);
  pooling.Bottom({1, 1, 3, 4}, {1, 8, 2, 3, 4, 5, 6, 7, 9, 1, 0, 2}).SetUp();
  const Floats pooled = pooling.Forward(0), mask = pooling.Forward(1);
  EXPECT_EQ(mask, (Floats{1, 7, 8, 11}));
  Example example(Upsample("scale: 2 pad_out_h: true"));
  example.Bottom({1, 1, 2, 2}, pooled).Bottom({1, 1, 2, 2}, mask).SetUp();
  EXPECT_EQ(example.TopShape(), (Shapes{1, 1, 3, 4}));
  EXPECT_EQ(example.Forward(), (Floats{0, 8, 0, 0, 0, 0, 0, 7, 9, 0, 0, 2}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), (Floats{2, 8, 9, 12}));
}

TEST(UpsampleValues, TheLastOfThoseThatMeetWins) {
  Example example(Upsample("scale: 1"));
  example.Bottom({1, 1, 1, 2}, {5, 6}).Bottom({1, 1, 1, 2}, {1, 1}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 6}));
}

}  // namespace
}  // namespace caffe
