#include <gtest/gtest.h>

#include <cmath>

#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/box.hpp"

namespace caffe {
namespace {

constexpr float kTolerance = 1e-6f;

NormalizedBBox MakeBBox(float xmin, float ymin, float xmax, float ymax) {
  NormalizedBBox bbox;
  bbox.set_xmin(xmin);
  bbox.set_ymin(ymin);
  bbox.set_xmax(xmax);
  bbox.set_ymax(ymax);
  return bbox;
}

void ExpectCorners(const Box& box, float xmin, float ymin, float xmax, float ymax,
                   float tolerance = kTolerance) {
  EXPECT_NEAR(box.xmin, xmin, tolerance);
  EXPECT_NEAR(box.ymin, ymin, tolerance);
  EXPECT_NEAR(box.xmax, xmax, tolerance);
  EXPECT_NEAR(box.ymax, ymax, tolerance);
}

TEST(Boxes, HaveAreasAndOverlaps) {
  const Box left = {0, 0, 0.2f, 0.4f}, right = {0.1f, 0, 0.3f, 0.4f}, far = {0.5f, 0.5f, 1, 1};
  EXPECT_NEAR(Area(left), 0.08, kTolerance);
  EXPECT_EQ(Area({0.2f, 0, 0.1f, 1}), 0);
  EXPECT_EQ(Area({1, 1, 1, 2}, false), 2) << "whole pixels";
  EXPECT_NEAR(Overlap(left, right), 1 / 3., kTolerance);
  EXPECT_NEAR(Coverage(left, right), 0.5, kTolerance);
  EXPECT_EQ(Overlap(left, far), 0);
  EXPECT_EQ(Coverage(left, far), 0);
  EXPECT_NEAR(Overlap({0, 0, 1, 1}, {1, 0, 2, 1}, false), 2 / 6., kTolerance);
  EXPECT_EQ(Overlap({1, 1, 1, 1}, {1, 1, 1, 1}), 0) << "no area";
  EXPECT_TRUE(CrossesBoundary({-0.1f, 0, 1, 1}));
  EXPECT_FALSE(CrossesBoundary({0, 0, 1, 1}));
}

TEST(Boxes, AreMovedBetweenFrames) {
  const NormalizedBBox patch = MakeBBox(0.25, 0.5, 0.75, 1);
  NormalizedBBox bbox, back;
  ASSERT_TRUE(ProjectBBox(patch, MakeBBox(0.5, 0.25, 0.625, 0.75), &bbox));
  ExpectCorners(BoxOf(bbox), 0.5, 0, 0.75, 0.5);
  LocateBBox(patch, bbox, &back);
  ExpectCorners(BoxOf(back), 0.5, 0.5, 0.625, 0.75);
  EXPECT_FALSE(ProjectBBox(patch, MakeBBox(0, 0, 0.25, 1), &bbox));
  ClipBBox(MakeBBox(-1, 0.5, 2, 0.75), &bbox);
  ExpectCorners(BoxOf(bbox), 0, 0.5, 1, 0.75);
  ScaleBBox(bbox, 10, 20, &back);
  ExpectCorners(BoxOf(back), 0, 5, 20, 7.5);
  EXPECT_EQ(back.size(), 21 * 3.5f);
  EXPECT_EQ(BBoxSize(UnitBBox()), 1);
}

TEST(Boxes, AsMessagesIntersectAndOverlap) {
  const NormalizedBBox left = MakeBBox(0, 0, 0.5, 0.5), right = MakeBBox(0.25, 0, 0.75, 0.5);
  NormalizedBBox common;
  IntersectBBox(left, right, &common);
  ExpectCorners(BoxOf(common), 0.25, 0, 0.5, 0.5);
  IntersectBBox(left, MakeBBox(0.75, 0.75, 1, 1), &common);
  ExpectCorners(BoxOf(common), 0, 0, 0, 0);
  EXPECT_NEAR(JaccardOverlap(left, right), 1 / 3., kTolerance);
  EXPECT_NEAR(JaccardOverlap(MakeBBox(0, 0, 1, 1), MakeBBox(1, 0, 2, 1), /*normalized=*/false),
              2 / 6., kTolerance);
  EXPECT_NEAR(BBoxCoverage(MakeBBox(0.25, 0, 0.75, 1), left), 0.25, kTolerance);
  EXPECT_TRUE(IsCrossBoundaryBBox(MakeBBox(0, 0, 1, 1.01f)));
  EXPECT_FALSE(IsCrossBoundaryBBox(UnitBBox()));
}

TEST(Boxes, AreClippedToAnImageInPixels) {
  NormalizedBBox bbox;
  ClipBBox(MakeBBox(-3, 5, 70, 90), /*height=*/40, /*width=*/60, &bbox);
  ExpectCorners(BoxOf(bbox), 0, 5, 60, 40);
}

TEST(Boxes, KeepTheirDifficultyWhenTheyMove) {
  NormalizedBBox bbox = MakeBBox(0, 0, 2, 1);
  bbox.set_difficult(true);
  ClipBBox(bbox, &bbox);
  EXPECT_TRUE(bbox.difficult());
}

TEST(Boxes, AreKeptInAPatchByCentreOrByPart) {
  const NormalizedBBox patch = MakeBBox(0, 0, 0.5, 0.5);
  EmitConstraint constraint;
  EXPECT_TRUE(MeetEmitConstraint(patch, MakeBBox(0.25, 0, 0.75, 0.5), constraint));
  EXPECT_FALSE(MeetEmitConstraint(patch, MakeBBox(0.3, 0, 0.75, 0.5), constraint));
  constraint.set_emit_type(EmitConstraint::MIN_OVERLAP);
  constraint.set_emit_overlap(0.4);
  EXPECT_TRUE(MeetEmitConstraint(patch, MakeBBox(0.25, 0, 0.75, 0.5), constraint));
  constraint.set_emit_overlap(0.5);
  EXPECT_FALSE(MeetEmitConstraint(patch, MakeBBox(0.25, 0, 0.75, 0.5), constraint));
}

// An image of 100 x 200 (height x width) in a square of 300: bars of 75 above and below.
TEST(Boxes, GoThroughResizedImagesAndBack) {
  ResizeParameter resize;
  resize.set_height(300);
  resize.set_width(300);
  resize.set_resize_mode(ResizeParameter::FIT_LARGE_SIZE_AND_PAD);
  NormalizedBBox bbox = MakeBBox(0.5, 0, 1, 0.5), pixels;
  UpdateBBoxByResizePolicy(resize, 200, 100, &bbox);
  ExpectCorners(BoxOf(bbox), 0.5, 0.25, 1, 0.5);
  OutputBBox(bbox, {100, 200}, true, resize, &pixels);
  ExpectCorners(BoxOf(pixels), 100, 0, 200, 50, 1e-4);
  OutputBBox(bbox, {100, 200}, false, resize, &pixels);
  ExpectCorners(BoxOf(pixels), 100, 25, 200, 50);
  resize.set_resize_mode(ResizeParameter::FIT_SMALL_SIZE);
  resize.set_height_scale(40);
  resize.set_width_scale(400);
  OutputBBox(bbox, {100, 200}, true, resize, &pixels);
  ExpectCorners(BoxOf(pixels), 200, 10, 200, 20);
  // 300 x 600, of which a crop of 150 x 600 is compared with 40 x 400.
  ExtrapolateBBox(resize, 100, 200, MakeBBox(0, 0, 1, 0.5), &bbox);
  ExpectCorners(BoxOf(bbox), 0.75, 0.9375, 1.5, 1.875);
}

struct CodeExample {
  PriorBoxParameter_CodeType type;
  Box encoded;  // with the variance in the target
};

class BoxCodes : public ::testing::TestWithParam<CodeExample> {};

TEST_P(BoxCodes, EncodeAndDecode) {
  const Prior prior = {{0.1f, 0.1f, 0.3f, 0.3f}, {0.1f, 0.1f, 0.2f, 0.2f}};
  const Box box = {0, 0.2f, 0.4f, 0.5f};
  const Box e = GetParam().encoded;
  const BoxCode in_target = {GetParam().type, true}, apart = {GetParam().type, false};
  ExpectCorners(Encode(prior, in_target, box), e.xmin, e.ymin, e.xmax, e.ymax);
  ExpectCorners(Encode(prior, apart, box), e.xmin * 10, e.ymin * 10, e.xmax * 5, e.ymax * 5, 1e-5);
  for (const BoxCode& code : {in_target, apart}) {
    ExpectCorners(Decode(prior, code, Encode(prior, code, box)), box.xmin, box.ymin, box.xmax,
                  box.ymax);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BoxCodes,
    ::testing::Values(CodeExample{PriorBoxParameter_CodeType_CORNER, {-0.1f, 0.1f, 0.1f, 0.2f}},
                      CodeExample{PriorBoxParameter_CodeType_CORNER_SIZE, {-0.5f, 0.5f, 0.5f, 1}},
                      CodeExample{PriorBoxParameter_CodeType_CENTER_SIZE,
                                  {0, 0.75f, std::log(2.f), std::log(1.5f)}}));

TEST(BoxCode, OfMessagesHasVariancesForEachPrior) {
  const std::vector<NormalizedBBox> priors = {MakeBBox(0.1f, 0.1f, 0.3f, 0.3f),
                                              MakeBBox(0.5f, 0.5f, 0.9f, 0.9f)};
  const std::vector<std::vector<float>> variances = {{0.1f, 0.1f, 0.2f, 0.2f}, {1, 1, 1, 1}};
  const std::vector<NormalizedBBox> boxes = {MakeBBox(0, 0.2f, 0.4f, 0.5f),
                                             MakeBBox(0.5f, 0.5f, 1.1f, 0.9f)};
  std::vector<NormalizedBBox> codes(2), decoded;
  for (const int i : {0, 1}) {
    EncodeBBox(priors[i], variances[i], PriorBoxParameter_CodeType_CORNER,
               /*encode_variance_in_target=*/false, boxes[i], &codes[i]);
  }
  ExpectCorners(BoxOf(codes[0]), -1, 1, 0.5, 1, 1e-5);
  ExpectCorners(BoxOf(codes[1]), 0, 0, 0.2f, 0, 1e-5);
  EXPECT_FALSE(codes[1].has_size()) << "a code has no area";
  DecodeBBoxes(priors, variances, PriorBoxParameter_CodeType_CORNER, false, /*clip_bbox=*/true,
               codes, &decoded);
  ASSERT_EQ(decoded.size(), 2u);
  ExpectCorners(BoxOf(decoded[0]), 0, 0.2f, 0.4f, 0.5f);
  ExpectCorners(BoxOf(decoded[1]), 0.5f, 0.5f, 1, 0.9f);
  EXPECT_NEAR(decoded[1].size(), 0.5 * 0.4, 1e-5);
  EXPECT_THROW(DecodeBBoxes(priors, {variances[0]}, PriorBoxParameter_CodeType_CORNER, false, true,
                            codes, &decoded),
               Error);
}

TEST(BoxCode, CountsWholePixelsIfToldSo) {
  const Prior prior = {{0, 0, 9, 9}, {1, 1, 1, 1}};
  const BoxCode code = {PriorBoxParameter_CodeType_CENTER_SIZE, false, false};
  ExpectCorners(Decode(prior, code, {0.1f, 0, 0, 0}), 1, 0, 11, 10, 1e-5);
}

TEST(BoxCode, RefusesBoxesWithoutArea) {
  const BoxCode code = {PriorBoxParameter_CodeType_CENTER_SIZE};
  EXPECT_THROW(Encode(Prior(), code, {0, 0, 1, 1}), Error);
  EXPECT_THROW(Encode({{0, 0, 1, 1}}, code, {0, 0, 0, 1}), Error);
}

// Three true boxes, of which the first two want prediction 1 most.
class MatchTest : public ::testing::Test {
 protected:
  const std::vector<Box> truths_ = {{0, 0, 10, 10}, {0, 0, 12, 10}, {50, 50, 60, 60}};
  const std::vector<Box> predictions_ = {
      {0, 0, 10, 6}, {0, 0, 11.5f, 10}, {51, 50, 61, 60}, {52, 50, 62, 60}, {90, 0, 91, 1}};
};

TEST_F(MatchTest, GivesEachTrueBoxTheBestThatIsFree) {
  const Matches m = Match(truths_, predictions_, MultiBoxLossParameter::BIPARTITE, 0.5);
  EXPECT_EQ(m.index, (std::vector<int>{0, 1, 2, -1, -1}));
  EXPECT_NEAR(m.overlap[0], 0.6, kTolerance);
  EXPECT_NEAR(m.overlap[1], 11.5 / 12, kTolerance);
  EXPECT_NEAR(m.overlap[3], 8 / 12., kTolerance);
  EXPECT_EQ(m.overlap[4], 0);
}

TEST_F(MatchTest, TheOthersTakeWhatTheyOverlapEnough) {
  EXPECT_EQ(Match(truths_, predictions_, MultiBoxLossParameter::PER_PREDICTION, 0.6).index,
            (std::vector<int>{0, 1, 2, 2, -1}));
  EXPECT_EQ(Match(truths_, predictions_, MultiBoxLossParameter::PER_PREDICTION, 0.7).index,
            (std::vector<int>{0, 1, 2, -1, -1}));
}

TEST_F(MatchTest, CanLeaveOutWhatReachesOverTheBorder) {
  const std::vector<Box> predictions = {{-0.1f, 0, 1, 1}, {0, 0, 0.5f, 1}};
  EXPECT_EQ(
      Match({{0, 0, 1, 1}}, predictions, MultiBoxLossParameter::PER_PREDICTION, 0.5, true).index,
      (std::vector<int>{kCrossesBoundary, 0}));
  EXPECT_EQ(Match({}, predictions, MultiBoxLossParameter::PER_PREDICTION, 0.5, true).index,
            (std::vector<int>{kUnmatched, kUnmatched}));
}

TEST_F(MatchTest, MessagesAreMatchedByLabel) {
  std::vector<NormalizedBBox> gt = {MakeBBox(0, 0, 1, 1), MakeBBox(0, 0, 0.5, 1)};
  gt[0].set_label(3);
  gt[1].set_label(4);
  std::vector<int> index;
  std::vector<float> overlap;
  MatchBBox(gt, {MakeBBox(0, 0, 0.9, 1)}, 4, MultiBoxLossParameter::PER_PREDICTION, 0.5, false,
            &index, &overlap);
  EXPECT_EQ(index, std::vector<int>{1});
  MatchBBox(gt, {MakeBBox(0, 0, 0.9, 1)}, -1, MultiBoxLossParameter::PER_PREDICTION, 0.5, false,
            &index, &overlap);
  EXPECT_EQ(index, std::vector<int>{0});
}

TEST(NonMaximumSuppression, KeepsTheBestOfWhatOverlaps) {
  const std::vector<NormalizedBBox> boxes = {MakeBBox(0, 0, 1, 1), MakeBBox(0, 0, 1, 0.9),
                                             MakeBBox(2, 2, 3, 3), MakeBBox(0, 0, 1, 0.6)};
  const std::vector<float> scores = {0.5, 0.9, 0.3, 0.4};
  std::vector<int> kept;
  ApplyNMSFast(boxes, scores, 0.2, 0.7, 1, -1, &kept);
  EXPECT_EQ(kept, (std::vector<int>{1, 3, 2}));
  ApplyNMSFast(boxes, scores, 0.3, 0.7, 1, -1, &kept);
  EXPECT_EQ(kept, (std::vector<int>{1, 3})) << "scores must be above the threshold";
  ApplyNMSFast(boxes, scores, 0.2, 0.7, 1, 2, &kept);
  EXPECT_EQ(kept, (std::vector<int>{1})) << "of the two best";
  ApplyNMSFast(boxes, scores, 0.2, 0.7, 0.8, -1, &kept);
  EXPECT_EQ(kept, (std::vector<int>{1, 2})) << "the threshold sinks";
  ApplyNMS(boxes, scores, 0.95, -1, &kept);
  EXPECT_EQ(kept, (std::vector<int>{1, 0, 3, 2}));
}

TEST(Scores, AreSortedTheBestFirst) {
  using Scored = std::vector<std::pair<float, int>>;
  Scored found;
  GetTopKScoreIndex({0.5, 0.9, 0.5, 0.1}, {7, 3, 5, 4}, -1, &found);
  EXPECT_EQ(found, (Scored{{0.9f, 3}, {0.5f, 7}, {0.5f, 5}, {0.1f, 4}})) << "equal ones in order";
  GetTopKScoreIndex({0.5, 0.9, 0.5, 0.1}, {7, 3, 5, 4}, 2, &found);
  EXPECT_EQ(found, (Scored{{0.9f, 3}, {0.5f, 7}}));
  EXPECT_THROW(GetTopKScoreIndex({0.5}, {1, 2}, -1, &found), Error);
  GetMaxScoreIndex({0.5, 0.9, 0.25}, /*threshold=*/0.25, /*top_k=*/-1, &found);
  EXPECT_EQ(found, (Scored{{0.9f, 1}, {0.5f, 0}}));
  std::vector<int> sums;
  CumSum({{0.1f, 1}, {0.9f, 2}, {0.5f, 4}}, &sums);
  EXPECT_EQ(sums, (std::vector<int>{2, 6, 7}));
}

TEST(Scores, CompareBoxesAndPairs) {
  NormalizedBBox worse, better;
  worse.set_score(0.25f);
  better.set_score(0.5f);
  EXPECT_TRUE(SortBBoxAscend(worse, better));
  EXPECT_FALSE(SortBBoxAscend(better, worse));
  EXPECT_TRUE(SortBBoxDescend(better, worse));
  EXPECT_FALSE(SortBBoxDescend(worse, better));
  const std::pair<float, int> low(0.25f, 9), high(0.5f, 1);
  EXPECT_TRUE(SortScorePairAscend(low, high));
  EXPECT_FALSE(SortScorePairAscend(low, low));
  EXPECT_TRUE(SortScorePairDescend(high, low));
}

TEST(Readers, TakeBlobsApart) {
  const float gt[] = {0,  1, 0, .1f, .1f, .3f, .3f, 0,  //
                      1,  2, 0, .2f, .1f, .3f, .3f, 1,  //
                      -1, 5, 5, 5,   5,   5,   5,   5};
  std::map<int, std::vector<NormalizedBBox>> truths;
  GetGroundTruth(gt, 3, 0, true, &truths);
  ASSERT_EQ(truths.size(), 2u);
  EXPECT_EQ(truths[1][0].label(), 2);
  EXPECT_TRUE(truths[1][0].difficult());
  GetGroundTruth(gt, 3, 0, false, &truths);
  EXPECT_EQ(truths.size(), 1u);
  EXPECT_THROW(GetGroundTruth(gt, 3, 1, true, &truths), Error);
  const float detections[] = {0, 1, .5f, 0, 0,  1,  1,  0,  1,  .75f, 0,
                              0, 1, .5f, 1, -1, -1, -1, -1, -1, -1};
  std::map<int, std::map<int, std::vector<NormalizedBBox>>> found;
  GetDetectionResults(detections, 3, 0, &found);
  EXPECT_EQ(found[0][1].size(), 2u);
  EXPECT_EQ(found[0][1][1].score(), 0.75f);
  EXPECT_EQ(found[1].count(-1), 1u);
  std::vector<LabelBBox> locations;
  GetLocPredictions(gt, 1, 3, 2, false, &locations);
  EXPECT_EQ(locations[0][1].size(), 3u);
  EXPECT_EQ(locations[0][1][0].ymin(), 0.3f);
  const float confidences[] = {.1f, .9f, .2f, .8f, /**/ .3f, .7f, .4f, .6f};
  std::vector<std::map<int, std::vector<float>>> scores;
  GetConfidenceScores(confidences, 2, 2, 2, &scores);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0][1], (std::vector<float>{.9f, .8f}));
  EXPECT_EQ(scores[1][0], (std::vector<float>{.3f, .4f}));
}

class AveragePrecision : public ::testing::Test {
 protected:
  float Of(const char* version, int positives = 4) {
    float ap = -1;
    ComputeAP(tp_, positives, fp_, version, &precision_, &recall_, &ap);
    return ap;
  }
  // Right, wrong, right, right; in any order. The one at 0.6 counts for nothing.
  const std::vector<std::pair<float, int>> tp_ = {{.8f, 0}, {.9f, 1}, {.7f, 1}, {.5f, 1}, {.6f, 0}};
  const std::vector<std::pair<float, int>> fp_ = {{.8f, 1}, {.9f, 0}, {.7f, 0}, {.5f, 0}, {.6f, 0}};
  std::vector<float> precision_, recall_;
};

TEST_F(AveragePrecision, HasThreeVersions) {
  EXPECT_NEAR(Of("11point"), (3 * 1 + 5 * .75) / 11, 1e-6) << "recalls 0 to .2, .3 to .7";
  EXPECT_NEAR(Of("MaxIntegral"), .25 * 1 + .25 * .75 + .25 * .75, 1e-6);
  EXPECT_NEAR(Of("Integral"), .25 * 1 + .25 * 2 / 3. + .25 * .75, 1e-6);
  EXPECT_EQ(recall_, (std::vector<float>{.25, .25, .5, .5, .75}));
  EXPECT_NEAR(precision_[1], 0.5, 1e-6);
}

TEST_F(AveragePrecision, IsZeroWhereNothingIsToBeFound) { EXPECT_EQ(Of("Integral", 0), 0); }

TEST_F(AveragePrecision, RefusesAnotherVersion) { EXPECT_THROW(Of("12point"), Error); }

}  // namespace
}  // namespace caffe
