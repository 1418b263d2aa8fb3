// SmoothL1LossOHEM, SoftmaxWithLossOHEM, BoxAnnotatorOHEM.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<Bottom> kBoxes = {Bottom({kOddN, 3, 2}, Fill::DISTINCT),
                                    Bottom({kOddN, 3, 2}).Labels(3)};
const std::vector<Bottom> kOhemScores = {Bottom({kOddN, 3, kOddH}),
                                         Bottom({kOddN, 1, kOddH}).Labels(3).WithoutGradient()};

const std::vector<LayerCase> kOhemCases = {
    LayerCase("Boxes", "type: 'SmoothL1LossOHEM'").Bottoms(kBoxes),
    LayerCase(
        "BoxesPreFixed",
        "type: 'SmoothL1LossOHEM' loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 7 }")
        .Bottoms(kBoxes)
        .Constant({kOddN, 3, 2}, Fill::POSITIVE),
    LayerCase("BoxesEach", "type: 'SmoothL1LossOHEM'").Bottoms(kBoxes).Tops(2).WithoutGradients(),
    LayerCase("Scores", "type: 'SoftmaxWithLossOHEM'").Bottoms(kOhemScores),
    LayerCase("ScoresEach", "type: 'SoftmaxWithLossOHEM' loss_param { ignore_label: 1 }")
        .Bottoms(kOhemScores)
        .Tops(3)
        .WithoutGradients(),
    LayerCase("Annotator", "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }")
        .Labels({7, 5}, 3)
        .Bottom({7, 1}, Fill::DISTINCT)
        .Labels({7, 1}, 9)
        .Bottom({7, 8})
        .Tops(2)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(Ohem, LayerCases, ::testing::ValuesIn(kOhemCases), CaseName());

const std::vector<BadLayerCase> kOhemBadCases = {
    BadLayerCase("Boxes", "type: 'SmoothL1LossOHEM'")
        .Bottom({2, 3})
        .Bottom({2, 4})
        .Says("values per item"),
    BadLayerCase("Scores", "type: 'SoftmaxWithLossOHEM'")
        .Bottom({4, 2, 3})
        .Labels({4}, 2)
        .Says("one label for each of the 12 predictions"),
    BadLayerCase("RoiPerImage", "type: 'BoxAnnotatorOHEM'")
        .Bottom({2, 5})
        .Bottom({2})
        .Bottom({2})
        .Bottom({2, 4})
        .Tops(2)
        .Says("box_annotator_ohem_param: roi_per_img must be positive"),
    BadLayerCase("Regions", "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }")
        .Bottom({2, 4})
        .Bottom({2})
        .Bottom({2})
        .Bottom({2, 4})
        .Tops(2)
        .Says("bottom 0, the regions, must have shape .2, 5, 1, 1., not 2 4"),
    BadLayerCase("Weights", "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }")
        .Bottom({2, 5})
        .Bottom({2})
        .Bottom({2})
        .Bottom({3, 4})
        .Tops(2)
        .Says("bottom 3, the box weights, must have shape .2, channels, 1, 1., not 3 4"),
};
INSTANTIATE_TEST_SUITE_P(Ohem, BadLayerCases, ::testing::ValuesIn(kOhemBadCases), CaseName());

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
