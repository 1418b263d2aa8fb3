#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCropCases = {
    LayerCase("Center", "type: 'Crop' crop_param { offset: 1 }")
        .Bottom({kOddN, kOddC, 6, 7})
        .Bottom({kOddN, 1, 4, 5})
        .Terms(1),
    LayerCase("Corner", "type: 'Crop'")
        .Bottom({kOddN, kOddC, 6, 7})
        .Bottom({kOddN, kOddC, 3, 5})
        .Terms(1),
    LayerCase("EachAxis", "type: 'Crop' crop_param { axis: 1 offset: 2 offset: 0 offset: 3 }")
        .Bottom({kOddN, 5, 4, 8})
        .Bottom({kOddN, 3, 4, 5})
        .Terms(1),
    LayerCase("All", "type: 'Crop' crop_param { axis: 0 }").Bottom({4, 5}).Bottom({2, 3}).Terms(1),
    LayerCase("LastOfThree", "type: 'Crop' crop_param { axis: -1 offset: 1 }")
        .Bottom({kOddN, kOddC, 7})
        .Bottom({kOddN, 1, 6})
        .Terms(1),
    LayerCase("Nothing", "type: 'Crop'")
        .Bottom({kOddN, kOddC, 3, 2})
        .Bottom({kOddN, kOddC, 3, 2})
        .Terms(1),
    LayerCase("CropCenter",
              "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 0 crop_size: 2 "
              "crop_size: 1 }")
        .Bottom({kOddN, kOddC, 6, 7})
        .Terms(1),
    LayerCase("CropCenterOfTwoAxes",
              "type: 'CropCenter' crop_center_param { crop_size: 1 crop_size: 3 }")
        .Bottom({5, 7})
        .Terms(1),
};
INSTANTIATE_TEST_SUITE_P(Crop, LayerCases, ::testing::ValuesIn(kCropCases), CaseName());

const std::vector<BadLayerCase> kCropBadCases = {
    BadLayerCase("Axes", "type: 'Crop'")
        .Bottom({1, 2, 3, 4})
        .Bottom({1, 2, 3})
        .Says("bottoms of the same number of axes"),
    BadLayerCase("Axis", "type: 'Crop' crop_param { axis: 4 }")
        .Bottom({1, 2, 3, 4})
        .Bottom({1, 2, 3, 4})
        .Says("crop_param: axis 4 is out of range"),
    BadLayerCase("Offsets", "type: 'Crop' crop_param { axis: 1 offset: 1 offset: 1 }")
        .Bottom({1, 2, 3, 4})
        .Bottom({1, 2, 3, 4})
        .Says(
            "offset is given 2 times: give it once, or once for each of the 3 axes from axis 1 on"),
    BadLayerCase("Behind", "type: 'Crop' crop_param { offset: 2 }")
        .Bottom({1, 1, 4, 4})
        .Bottom({1, 1, 2, 3})
        .Says("offset 2 and extent 3 of bottom 1 reach behind the extent 4 of axis 3"),
    BadLayerCase("HugeOffset", "type: 'Crop' crop_param { offset: 4294967295 }")
        .Bottom({1, 1, 4, 4})
        .Bottom({1, 1, 2, 3})
        .Says("offset 4294967295 and extent 2"),
    BadLayerCase("Larger", "type: 'Crop'")
        .Bottom({1, 1, 4, 4})
        .Bottom({1, 1, 5, 3})
        .Says("offset 0 and extent 5"),
    BadLayerCase("CropCenterAxes", "type: 'CropCenter' crop_center_param { crop_size: 1 }")
        .Bottom({2, 4, 4})
        .Says("crop_size is given 1 times: give it once for each of the 3 axes"),
    BadLayerCase("CropCenterAll",
                 "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 2 }")
        .Bottom({2, 4})
        .Says("crop_size 2, cut off at both ends, leaves nothing of axis 1"),
    BadLayerCase("CropCenterHuge",
                 "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 4294967295 }")
        .Bottom({2, 4})
        .Says("crop_size 4294967295"),
};
INSTANTIATE_TEST_SUITE_P(Crop, BadLayerCases, ::testing::ValuesIn(kCropBadCases), CaseName());

TEST(CropValues, CutsAWindow) {
  Example example("type: 'Crop' crop_param { offset: 1 offset: 0 }");
  example.Bottom({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).Bottom({1, 1, 2, 2}, {0, 0, 0, 0});
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{4, 5, 7, 8}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}), (Floats{0, 0, 0, 1, 2, 0, 3, 4, 0}));
}

TEST(CropCenterValues, CutsAsMuchAtBothEnds) {
  Example example("type: 'CropCenter' crop_center_param { crop_size: 1 crop_size: 0 }");
  example.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{3, 4}));
  EXPECT_EQ(example.Backward({7, 8}), (Floats{0, 0, 7, 8, 0, 0}));
}

}  // namespace
}  // namespace caffe
