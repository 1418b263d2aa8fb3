#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kCases = {
    {"Center",
     "type: 'Crop' crop_param { offset: 1 }",
     {{{kOddN, kOddC, 6, 7}}, {{kOddN, 1, 4, 5}}},
     1,
     false,
     true,
     1,
     1},
    {"Corner",
     "type: 'Crop'",
     {{{kOddN, kOddC, 6, 7}}, {{kOddN, kOddC, 3, 5}}},
     1,
     false,
     true,
     1,
     1},
    {"EachAxis",
     "type: 'Crop' crop_param { axis: 1 offset: 2 offset: 0 offset: 3 }",
     {{{kOddN, 5, 4, 8}}, {{kOddN, 3, 4, 5}}},
     1,
     false,
     true,
     1,
     1},
    {"All", "type: 'Crop' crop_param { axis: 0 }", {{{4, 5}}, {{2, 3}}}, 1, false, true, 1, 1},
    {"LastOfThree",
     "type: 'Crop' crop_param { axis: -1 offset: 1 }",
     {{{kOddN, kOddC, 7}}, {{kOddN, 1, 6}}},
     1,
     false,
     true,
     1,
     1},
    {"Nothing",
     "type: 'Crop'",
     {{{kOddN, kOddC, 3, 2}}, {{kOddN, kOddC, 3, 2}}},
     1,
     false,
     true,
     1,
     1},
    {"CropCenter",
     "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 0 crop_size: 2 crop_size: 1 }",
     {{{kOddN, kOddC, 6, 7}}},
     1,
     false,
     true,
     1,
     1},
    {"CropCenterOfTwoAxes",
     "type: 'CropCenter' crop_center_param { crop_size: 1 crop_size: 3 }",
     {{{5, 7}}},
     1,
     false,
     true,
     1,
     1},
};
INSTANTIATE_TEST_SUITE_P(Crop, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Axes", "type: 'Crop'", {{{1, 2, 3, 4}}, {{1, 2, 3}}}, "bottoms of the same number of axes"},
    {"Axis",
     "type: 'Crop' crop_param { axis: 4 }",
     {{{1, 2, 3, 4}}, {{1, 2, 3, 4}}},
     "crop_param: axis 4 is out of range"},
    {"Offsets",
     "type: 'Crop' crop_param { axis: 1 offset: 1 offset: 1 }",
     {{{1, 2, 3, 4}}, {{1, 2, 3, 4}}},
     "offset is given 2 times: give it once, or once for each of the 3 axes from axis 1 on"},
    {"Behind",
     "type: 'Crop' crop_param { offset: 2 }",
     {{{1, 1, 4, 4}}, {{1, 1, 2, 3}}},
     "offset 2 and extent 3 of bottom 1 reach behind the extent 4 of axis 3"},
    {"HugeOffset",
     "type: 'Crop' crop_param { offset: 4294967295 }",
     {{{1, 1, 4, 4}}, {{1, 1, 2, 3}}},
     "offset 4294967295 and extent 2"},
    {"Larger", "type: 'Crop'", {{{1, 1, 4, 4}}, {{1, 1, 5, 3}}}, "offset 0 and extent 5"},
    {"CropCenterAxes",
     "type: 'CropCenter' crop_center_param { crop_size: 1 }",
     {{{2, 4, 4}}},
     "crop_size is given 1 times: give it once for each of the 3 axes"},
    {"CropCenterAll",
     "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 2 }",
     {{{2, 4}}},
     "crop_size 2, cut off at both ends, leaves nothing of axis 1"},
    {"CropCenterHuge",
     "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 4294967295 }",
     {{{2, 4}}},
     "crop_size 4294967295"},
};
INSTANTIATE_TEST_SUITE_P(Crop, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

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
