#include <cmath>
#include <numeric>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

const Bottom kImage = Bottom({1, 3}).Values({48, 64, 1}).WithoutGradient();
const Bottom kAnchorTruths =
    Bottom({2, 5}).Values({3, 5, 20, 30, 1, 30, 0, 60, 40, 2}).WithoutGradient();
const char kManyAnchors[] =
    "type: 'AnchorTarget' python_param { param_str: \"{'feat_stride': 8, 'base_size': 8, "
    "'ratios': [0.5, 1], 'scales': [1, 3], 'rpn_batchsize': 9}\" }";

const std::vector<LayerCase> kAnchorTargetCases = {
    LayerCase("ThreeBottoms", kManyAnchors)
        .Bottom({1, 8, 6, 8})
        .Bottom(kAnchorTruths)
        .Bottom(kImage)
        .Tops(4)
        .WithoutGradients(),
    LayerCase("WithTheImage", kManyAnchors)
        .Bottom({1, 8, 6, 8})
        .Bottom(kAnchorTruths)
        .Bottom(kImage)
        .Bottom({1, 3, 48, 64})
        .Tops(4)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(AnchorTarget, LayerCases, ::testing::ValuesIn(kAnchorTargetCases),
                         CaseName());

BadLayerCase AnchorTargetBad(const char* name, const std::string& param, const std::string& wanted,
                             std::vector<int> scores = {1, 2, 3, 4},
                             std::vector<int> truths = {1, 5}, std::vector<int> image = {1, 3}) {
  return BadLayerCase(
             name, "type: 'AnchorTarget' python_param { param_str: \"'ratios': 1, 'scales': 1, " +
                       param + "\" }")
      .Bottom(scores)
      .Bottom(truths)
      .Bottom(image)
      .Tops(4)
      .Says(wanted);
}
const std::vector<BadLayerCase> kAnchorTargetBadCases = {
    AnchorTargetBad("Ratios", "'ratios': [1, 2]",
                    "2 ratios and 1 scales need 4 channels of scores, got 2"),
    AnchorTargetBad("Ratio", "'ratios': 0", "ratio must be positive, got 0"),
    AnchorTargetBad("Scale", "'scales': -1", "scale must be positive, got -1"),
    AnchorTargetBad("Base", "'base_size': 0", "param_str: base_size must be positive"),
    AnchorTargetBad("Stride", "'feat_stride': 0", "feat_stride must be positive"),
    AnchorTargetBad("Batch", "'rpn_batchsize': 0", "rpn_batchsize must be positive"),
    AnchorTargetBad("Fraction", "'rpn_fg_fraction': 1.5",
                    "rpn_fg_fraction is a share of rpn_batchsize"),
    AnchorTargetBad("Weight", "'rpn_positive_weight': 1", "rpn_positive_weight is a share below 1"),
    AnchorTargetBad("Inside", "'rpn_bbox_inside_weights': 1",
                    "rpn_bbox_inside_weights are 4 numbers, not 1"),
    AnchorTargetBad("Unknown", "'feat_strid': 16",
                    "there is no setting 'feat_strid'; there are allowed_border"),
    AnchorTargetBad("Items", "", "scores of one image", {2, 2, 3, 4}),
    AnchorTargetBad("Truths", "", "rows of corners and class, not 1 4", {1, 2, 3, 4}, {1, 4}),
    AnchorTargetBad("Image", "", "height and width", {1, 2, 3, 4}, {1, 5}, {1, 1}),
};
INSTANTIATE_TEST_SUITE_P(AnchorTarget, BadLayerCases, ::testing::ValuesIn(kAnchorTargetBadCases),
                         CaseName());

enum AnchorTop { kAnchorLabels, kAnchorTargets, kAnchorInside, kAnchorOutside };

/// One square anchor of 16 pixels in each cell of 16.
class AnchorTargetValues : public ::testing::Test {
 protected:
  Example Make(int cells, const Floats& truths, const std::string& more = "", float width = 1000) {
    Example example("type: 'AnchorTarget' python_param { param_str: \"'ratios': 1, 'scales': 1, " +
                        more + "\" }",
                    4);
    example.Bottom({1, 2, 1, cells}, Floats(2 * cells, 0))
        .Bottom({int(truths.size()) / 5, 5}, truths)
        .Bottom({1, 3}, {16, width, 1});
    return std::move(example.SetUp());
  }
};

TEST_F(AnchorTargetValues, ShapesFollowTheScores) {
  Example example("type: 'AnchorTarget'", 4);
  example.Bottom({1, 18, 5, 7}, Floats(18 * 35, 0)).Bottom({1, 5}, {0, 0, 9, 9, 1});
  example.Bottom({1, 3}, {80, 112, 1}).SetUp();
  EXPECT_EQ(example.TopShape(kAnchorLabels), (Shape{1, 1, 45, 7}));
  for (const AnchorTop top : {kAnchorTargets, kAnchorInside, kAnchorOutside}) {
    EXPECT_EQ(example.TopShape(top), (Shape{1, 36, 5, 7}));
  }
}

TEST_F(AnchorTargetValues, AnchorsOnABoxAreObjectsThoseFarAwayBackground) {
  Example example = Make(3, {0, 0, 15, 15, 7});
  EXPECT_EQ(example.Forward(kAnchorLabels), (Floats{1, 0, 0}));
  EXPECT_EQ(example.Forward(kAnchorTargets), Floats(12, 0));
}

// Shifted by 4 the overlap is 12 / 20; the second anchor has 4 / 28 of it.
TEST_F(AnchorTargetValues, WhatOverlapsABoxMostIsAnObjectWhateverTheThreshold) {
  const Floats shifted = {4, 0, 19, 15, 1};
  EXPECT_EQ(Make(3, shifted).Forward(kAnchorLabels), (Floats{1, 0, 0}));
  EXPECT_EQ(Make(3, shifted, "'rpn_negative_overlap': 0.1").Forward(kAnchorLabels),
            (Floats{1, -1, 0}));
  EXPECT_EQ(Make(3, shifted, "'rpn_positive_overlap': 0.1").Forward(kAnchorLabels),
            (Floats{1, 1, 0}));
}

TEST_F(AnchorTargetValues, OfEqualOnesAllAreObjectsUnlessClobbered) {
  const Floats between = {8, 0, 23, 15, 1};  // overlaps two anchors by 1/3
  Example example = Make(3, between);
  EXPECT_EQ(example.Forward(kAnchorLabels), (Floats{1, 1, 0}));
  EXPECT_EQ(example.Forward(kAnchorTargets), (Floats{.5f, -.5f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const std::string clobber = "'rpn_clobber_positives': True, 'rpn_negative_overlap': ";
  EXPECT_EQ(Make(3, between, clobber + "0.4").Forward(kAnchorLabels), (Floats{0, 0, 0}));
  EXPECT_EQ(Make(3, between, clobber + "0.3").Forward(kAnchorLabels), (Floats{1, 1, 0}));
}

TEST_F(AnchorTargetValues, TargetsAreRelativeToTheAnchor) {
  Example example = Make(1, {0, 0, 31, 7, 1});  // twice as wide, half as high
  EXPECT_EQ(example.Forward(kAnchorLabels), (Floats{1}));
  EXPECT_EQ(example.Forward(kAnchorTargets), (Floats{.5f, -.25f, std::log(2.f), std::log(.5f)}));
}

TEST_F(AnchorTargetValues, AnAnchorTakesTheBoxThatItOverlapsMost) {
  Example example = Make(1, {0, 0, 3, 15, 1, 0, 0, 11, 15, 1});
  EXPECT_FLOAT_EQ(example.Forward(kAnchorTargets)[2], std::log(12.f / 16));
}

TEST_F(AnchorTargetValues, AnchorsOutsideOfTheImageDoNotCount) {
  const Floats truth = {0, 0, 15, 15, 1};
  EXPECT_EQ(Make(3, truth, "", 47).Forward(kAnchorLabels), (Floats{1, 0, -1}));
  EXPECT_EQ(Make(3, truth, "'allowed_border': 1", 47).Forward(kAnchorLabels), (Floats{1, 0, 0}));
  EXPECT_EQ(Make(3, truth, "", 47).Forward(kAnchorOutside)[2], 0);
}

TEST_F(AnchorTargetValues, WithoutBoxesAllIsBackground) {
  Example example = Make(3, {});
  EXPECT_EQ(example.Forward(kAnchorLabels), (Floats{0, 0, 0}));
  EXPECT_EQ(example.Forward(kAnchorInside), Floats(12, 0));
}

TEST_F(AnchorTargetValues, ABoxThatNoAnchorTouchesMakesNoObjects) {
  EXPECT_EQ(Make(2, {900, 0, 910, 10, 1}).Forward(kAnchorLabels), (Floats{0, 0}));
}

TEST_F(AnchorTargetValues, InsideWeightsAreThoseOfObjects) {
  const std::string weights = "'rpn_bbox_inside_weights': (1, 2, 3, 4)";
  EXPECT_EQ(Make(2, {0, 0, 15, 15, 1}, weights).Forward(kAnchorInside),
            (Floats{1, 0, 2, 0, 3, 0, 4, 0}));
}

TEST_F(AnchorTargetValues, OutsideWeightsAreShared) {
  const Floats truth = {0, 0, 15, 15, 1};
  EXPECT_EQ(Make(4, truth).Forward(kAnchorOutside), Floats(16, .25f));
  const Floats weights = Make(4, truth, "'rpn_positive_weight': 0.25").Forward(kAnchorOutside);
  for (int i = 0; i < 16; ++i) EXPECT_FLOAT_EQ(weights[i], .25f);  // 0.25 / 1 and 0.75 / 3
  const Floats heavy = Make(4, truth, "'rpn_positive_weight': 0.7").Forward(kAnchorOutside);
  EXPECT_FLOAT_EQ(heavy[0], .7f);
  EXPECT_FLOAT_EQ(heavy[1], .1f);
}

TEST_F(AnchorTargetValues, TargetsAreTakenAsGiven) {
  Example example = Make(3, {0, 0, 15, 15, 1});
  example.Forward();
  EXPECT_EQ(example.Backward({1, 1, 1}), Floats(6, 0));
}

// Ten anchors, all of them objects with these thresholds, or all of them background.
class AnchorTargetChoice : public AnchorTargetValues {
 protected:
  Floats Labels(unsigned seed, const Floats& truths, const std::string& more) {
    Example example = Make(10, truths, more);
    Caffe::set_random_seed(seed);
    return example.Forward(kAnchorLabels);
  }
  static int Count(const Floats& labels, float label) {
    return static_cast<int>(std::count(labels.begin(), labels.end(), label));
  }
  const Floats all_ = {0, 0, 159, 15, 1};
};

TEST_F(AnchorTargetChoice, KeepsAtMostItsShareOfObjects) {
  const Floats labels =
      Labels(TestSeed(), all_, "'rpn_positive_overlap': 0.05, 'rpn_batchsize': 6");
  EXPECT_EQ(Count(labels, 1), 3);
  EXPECT_EQ(Count(labels, -1), 7) << "there is no background to fill up with";
}

TEST_F(AnchorTargetChoice, FillsUpWithBackground) {
  const Floats labels = Labels(TestSeed(), {0, 0, 15, 15, 1}, "'rpn_batchsize': 6");
  EXPECT_EQ(Count(labels, 1), 1);
  EXPECT_EQ(Count(labels, 0), 5);
}

TEST_F(AnchorTargetChoice, IsRandomAndRepeatable) {
  const std::string half = "'rpn_batchsize': 5";
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  EXPECT_EQ(Labels(seed, {}, half), Labels(seed, {}, half));
  bool differs = false;
  for (unsigned i = 1; i < 20; ++i) differs |= Labels(seed + i, {}, half) != Labels(seed, {}, half);
  EXPECT_TRUE(differs);
}

TEST_F(AnchorTargetChoice, WhatIsLeftOutHasNoWeights) {
  Example example = Make(10, all_, "'rpn_positive_overlap': 0.05, 'rpn_batchsize': 2");
  const Floats labels = example.Forward(kAnchorLabels);
  const Floats inside = example.Forward(kAnchorInside);
  EXPECT_EQ(std::accumulate(inside.begin(), inside.end(), 0.f), 4);
  const Floats outside = example.Forward(kAnchorOutside);
  EXPECT_EQ(std::accumulate(outside.begin(), outside.end(), 0.f), 4);
}

}  // namespace
}  // namespace caffe
