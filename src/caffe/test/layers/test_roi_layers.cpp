#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

/// Regions on two items: whole, small, over the border, outside, turned round; values that are
/// FLOAT16 numbers.
std::vector<double> Regions() {
  return {0, 0, 0,  14, 12, 1, 3.25, 2.5, 9,  7.75, 1, 5,  4, 5,  4,
          0, 8, -6, 30, 6,  0, 40,   40,  50, 60,   1, 10, 8, -4, 2};
}

LayerCase RoiCase(const char* name, const std::string& prototxt, int channels = 3,
                  Fill fill = Fill::DISTINCT) {
  return LayerCase(name, prototxt).Bottom({2, channels, 7, 9}, fill).Values({6, 5}, Regions());
}

const std::vector<LayerCase> kRoiCases = {
    RoiCase("Max",
            "type: 'ROIPooling' roi_pooling_param { pooled_h: 3 pooled_w: 2 "
            "spatial_scale: 0.5 }"),
    RoiCase("MaxOfMoreThanThere",
            "type: 'ROIPooling' roi_pooling_param { pooled_h: 9 pooled_w: 7 spatial_scale: 0.25 }"),
    RoiCase("PositionSensitive",
            "type: 'PSROIPooling' psroi_pooling_param { output_dim: 2 group_size: 3 "
            "spatial_scale: 0.5 }",
            18, Fill::GAUSSIAN),
    RoiCase("Align",
            "type: 'ROIAlign' roi_align_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.5 }", 3,
            Fill::GAUSSIAN),
    RoiCase("AlignTwoSamples",
            "type: 'ROIAlign' roi_align_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.6 "
            "sampling_ratio: 2 }",
            3, Fill::GAUSSIAN),
};
INSTANTIATE_TEST_SUITE_P(Roi, LayerCases, ::testing::ValuesIn(kRoiCases), CaseName());

BadLayerCase RoiBad(const char* name, const std::string& prototxt, const std::string& wanted,
                    std::vector<double> roi = {0, 0, 0, 1, 1}, std::vector<int> map = {1, 4, 5, 5},
                    std::vector<int> rois = {1, 5}) {
  if (rois != std::vector<int>{1, 5}) roi.clear();
  return BadLayerCase(name, prototxt).Bottom(map).Values(rois, roi).InForward().Says(wanted);
}
const std::string kMax = "type: 'ROIPooling' roi_pooling_param { pooled_h: 2 pooled_w: 2 }";

const std::vector<BadLayerCase> kRoiBadCases = {
    RoiBad(
        "NoSize", "type: 'ROIPooling' roi_pooling_param { pooled_h: 2 }",
        "roi_pooling_param: the pooled height and width must be given and positive, got 2 and 0"),
    RoiBad("Scale", "type: 'ROIAlign' roi_align_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0 }",
           "roi_align_param: spatial_scale must be positive, got 0"),
    RoiBad("Samples",
           "type: 'ROIAlign' roi_align_param { pooled_h: 2 pooled_w: 2 sampling_ratio: 5000 }",
           "roi_align_param.sampling_ratio is 5000: give up to 4096"),
    RoiBad("Item", kMax, "region number 0 is of item 1, but the batch has 1", {1, 0, 0, 1, 1}),
    RoiBad("Corner", kMax, "region number 0 has a corner at inf", {0, 0, 1e300, 1, 1}),
    RoiBad("Map", kMax, "feature map has 4 axes", {0, 0, 0, 1, 1}, {1, 4, 5}),
    RoiBad("Regions", kMax, "regions have shape .R, 5., not 1 4", {}, {1, 4, 5, 5}, {1, 4}),
    RoiBad("GroupSize",
           "type: 'PSROIPooling' psroi_pooling_param { output_dim: 1 spatial_scale: 1 }",
           "psroi_pooling_param: group_size"),
    RoiBad("OutputDim",
           "type: 'PSROIPooling' psroi_pooling_param { group_size: 2 spatial_scale: 1 }",
           "output_dim must be given and positive, got 0"),
    RoiBad(
        "Channels",
        "type: 'PSROIPooling' psroi_pooling_param { output_dim: 2 group_size: 2 spatial_scale: 1 }",
        "output_dim 2 and group_size 2 need 8 channels, the feature map has 4"),
};
INSTANTIATE_TEST_SUITE_P(Roi, BadLayerCases, ::testing::ValuesIn(kRoiBadCases), CaseName());

/// A map of 4 x 4: 1 to 16.
const Floats kMap = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

Floats Pool(const std::string& prototxt, const Floats& roi, const Floats& map = kMap) {
  Example example(prototxt);
  example.Bottom({1, int(map.size() / 16), 4, 4}, map).Bottom({1, 5}, roi).SetUp();
  return example.Forward();
}

// Rows 0 to 2 of three, of which the middle one is in both parts.
TEST(RoiPoolingValues, PartsOverlap) {
  EXPECT_EQ(Pool(kMax, {0, 0, 0, 2, 2}), (Floats{6, 7, 10, 11}));
  EXPECT_EQ(Pool("type: 'ROIPooling' roi_pooling_param { pooled_h: 2 pooled_w: 2 "
                 "spatial_scale: 0.5 }",
                 {0, 1, 1, 5, 6}),
            (Floats{11, 12, 15, 16}))
      << "1 to 3 each: halves are rounded up";
}

TEST(RoiPoolingValues, NothingIsZero) {
  Floats map = kMap;
  for (float& x : map) x = -x;
  EXPECT_EQ(Pool(kMax, {0, 3, 0, 6, 1}, map), (Floats{-4, 0, -8, 0}));
}

TEST(RoiPoolingValues, TheFirstMaximumGetsTheGradient) {
  Example example("type: 'ROIPooling' roi_pooling_param { pooled_h: 1 pooled_w: 1 }");
  example.Bottom({1, 1, 1, 3}, {5, 5, 1}).Bottom({2, 5}, {0, 0, 0, 2, 0, 0, 1, 0, 2, 0}).SetUp();
  example.Forward();
  EXPECT_EQ(example.Backward({1, 10}), (Floats{1, 10, 0}));
}

TEST(PsRoiPoolingValues, EachPartHasItsChannel) {
  Floats map;
  for (int channel = 1; channel <= 4; ++channel) {
    for (float x : kMap) map.push_back(x * channel);
  }
  const std::string prototxt =
      "type: 'PSROIPooling' psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }";
  EXPECT_EQ(Pool(prototxt, {0, 0, 0, 3, 3}, map), (Floats{3.5, 2 * 5.5, 3 * 11.5, 4 * 13.5}));
  EXPECT_EQ(Pool(prototxt, {0, 0, 0, 2, 1}, map), (Floats{1.5, 2 * 2.5, 3 * 5.5, 4 * 6.5}))
      << "1.5 wide: two columns each";
}

// Samples at 0.75 and 2.25 of each axis, the values being 1 + x + 4 y.
TEST(RoiAlignValues, Interpolates) {
  EXPECT_EQ(Pool("type: 'ROIAlign' roi_align_param { pooled_h: 2 pooled_w: 2 sampling_ratio: 1 }",
                 {0, 0, 0, 3, 3}),
            (Floats{4.75, 6.25, 10.75, 12.25}));
}

// At -1.5, -0.5: the first is nothing, the second is the border's value.
TEST(RoiAlignValues, EndsOneBehindTheBorder) {
  EXPECT_EQ(Pool("type: 'ROIAlign' roi_align_param { pooled_h: 1 pooled_w: 1 sampling_ratio: 2 }",
                 {0, -2, 0, 0, 0}),
            (Floats{.5f * (.5f * (1 + 4 * .25f) + .5f * (1 + 4 * .75f))}));
}

}  // namespace
}  // namespace caffe
