// SmoothL1LossOHEM, SoftmaxWithLossOHEM, BoxAnnotatorOHEM.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<Bottom> kBoxes = {{{kOddN, 3, 2}, Fill::DISTINCT},
                                    {{kOddN, 3, 2}, Fill::LABELS, true, 3}};
const std::vector<Bottom> kScores = {{{kOddN, 3, kOddH}},
                                     {{kOddN, 1, kOddH}, Fill::LABELS, false, 3}};

const std::vector<LayerCase> kCases = {
    {"Boxes", "type: 'SmoothL1LossOHEM'", kBoxes},
    {"BoxesPreFixed",
     "type: 'SmoothL1LossOHEM' loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 7 }",
     {kBoxes[0], kBoxes[1], {{kOddN, 3, 2}, Fill::POSITIVE, false}}},
    {"BoxesEach", "type: 'SmoothL1LossOHEM'", kBoxes, 2, false, false},
    {"Scores", "type: 'SoftmaxWithLossOHEM'", kScores},
    {"ScoresEach", "type: 'SoftmaxWithLossOHEM' loss_param { ignore_label: 1 }", kScores, 3, false,
     false},
    {"Annotator",
     "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }",
     {{{7, 5}, Fill::LABELS, false, 3},
      {{7, 1}, Fill::DISTINCT},
      {{7, 1}, Fill::LABELS, false, 9},
      {{7, 8}}},
     2,
     false,
     false},
};
INSTANTIATE_TEST_SUITE_P(Ohem, LayerCases, ::testing::ValuesIn(kCases), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Boxes", "type: 'SmoothL1LossOHEM'", {{{2, 3}}, {{2, 4}}}, "values per item"},
    {"Scores",
     "type: 'SoftmaxWithLossOHEM'",
     {{{4, 2, 3}}, {{4}, Fill::LABELS, false, 2}},
     "one label for each of the 12 predictions"},
    {"RoiPerImage",
     "type: 'BoxAnnotatorOHEM'",
     {{{2, 5}}, {{2}}, {{2}}, {{2, 4}}},
     "box_annotator_ohem_param: roi_per_img must be positive",
     2},
    {"Regions",
     "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }",
     {{{2, 4}}, {{2}}, {{2}}, {{2, 4}}},
     "bottom 0, the regions, must have shape .2, 5, 1, 1., not 2 4",
     2},
    {"Weights",
     "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }",
     {{{2, 5}}, {{2}}, {{2}}, {{3, 4}}},
     "bottom 3, the box weights, must have shape .2, channels, 1, 1., not 3 4",
     2},
};
INSTANTIATE_TEST_SUITE_P(Ohem, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(OhemValues, BoxesAreSummedOverChannels) {
  Example example("type: 'SmoothL1LossOHEM'", 2);
  example.Bottom({2, 2}, {1, 3, 0, -0.5}).Bottom({2, 2}, {0.5, 0, 0, 0}).SetUp();
  EXPECT_EQ(example.Forward(1), (Floats{0.125 + 2.5, 0.125}));
  EXPECT_EQ(example.TopShape(1), (Shape{2, 1, 1, 1}));
  EXPECT_FLOAT_EQ(example.Forward(0)[0], 2.75 / 2);
  EXPECT_FLOAT_EQ(example.loss(), 2.75 / 2) << "the second top is no loss";
}

TEST(OhemValues, IgnoredLabelsLoseNothing) {
  Example example("type: 'SoftmaxWithLossOHEM' loss_param { ignore_label: 7 }", 3);
  example.Bottom({2, 2}, {0, std::log(3.f), 5, 0}).Bottom({2}, {1, 7}).SetUp();
  const Floats lost = example.Forward(2);
  EXPECT_FLOAT_EQ(lost[0], std::log(4. / 3));
  EXPECT_EQ(lost[1], 0);
  EXPECT_FLOAT_EQ(example.Forward(1)[0], 0.25);
  EXPECT_FLOAT_EQ(example.loss(), std::log(4. / 3));
}

// Image 0 has regions 0, 1 and 3, image 1 has region 2.
TEST(OhemValues, TheAnnotatorKeepsWhatLosesMost) {
  Example example(
      "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 ignore_label: -1 }", 2);
  Floats rois(4 * 5, 9);
  rois[0] = rois[5] = rois[15] = 0;
  rois[10] = 1;
  example.Bottom({4, 5}, rois).Bottom({4}, {1, 3, 0.5, 2}).Bottom({4}, {10, 11, 12, 13});
  example.Bottom({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).SetUp();
  EXPECT_EQ(example.Forward(0), (Floats{-1, 11, 12, 13}));
  EXPECT_EQ(example.Forward(1), (Floats{0, 0, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace caffe
