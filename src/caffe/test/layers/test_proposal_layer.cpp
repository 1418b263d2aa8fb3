#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const char kProposalParam[] =
    "type: 'Proposal' proposal_param { base_size: 8 feat_stride: 8 min_size: 4 ratio: 1 ratio: 0.5 "
    "scale: 1 scale: 3 pre_nms_topn: 20 post_nms_topn: 6 nms_thresh: 0.6 }";

const std::vector<LayerCase> kProposalCases = {
    LayerCase("OneTop", kProposalParam)
        .Bottom({1, 8, 3, 4}, Fill::DISTINCT)
        .Bottom({1, 16, 3, 4})
        .Values({1, 3}, {24, 32, 1})
        .WithoutGradients(),
    LayerCase("Scores", kProposalParam)
        .Bottom({2, 8, 3, 4}, Fill::DISTINCT)
        .Bottom({2, 16, 3, 4})
        .Values({2, 4}, {24, 32, 1, 1, 20, 30, .5, .25})
        .Tops(2)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(Proposal, LayerCases, ::testing::ValuesIn(kProposalCases), CaseName());

BadLayerCase ProposalBad(const char* name, const std::string& param, const std::string& wanted,
                         std::vector<int> scores = {1, 2, 3, 4},
                         std::vector<int> codes = {1, 4, 3, 4}, std::vector<int> images = {1, 3}) {
  return BadLayerCase(name, "type: 'Proposal' proposal_param { " + param + " }")
      .Bottom(scores)
      .Bottom(codes)
      .Bottom(images)
      .Says(wanted);
}
const std::vector<BadLayerCase> kProposalBadCases = {
    ProposalBad("Anchors", "ratio: 1", "ratio and scale are missing"),
    ProposalBad("Ratio", "ratio: 0 scale: 1", "ratio must be positive, got 0"),
    ProposalBad("Scale", "ratio: 1 scale: -1", "scale must be positive, got -1"),
    ProposalBad("Base", "ratio: 1 scale: 1 base_size: 0", "base_size must be positive"),
    ProposalBad("Stride", "ratio: 1 scale: 1 feat_stride: 0", "feat_stride must be positive"),
    ProposalBad("Before", "ratio: 1 scale: 1 pre_nms_topn: 0", "pre_nms_topn must be positive"),
    ProposalBad("After", "ratio: 1 scale: 1 post_nms_topn: 0", "post_nms_topn must be positive"),
    ProposalBad(
        "Channels", "ratio: 1 scale: 1 scale: 2",
        "1 times ratio and 2 times scale need 4 channels of scores and 8 of boxes, got 2 and 4"),
    ProposalBad("Axes", "ratio: 1 scale: 1", "Proposal takes maps of 4 axes", {1, 2, 3}),
    ProposalBad("Maps", "ratio: 1 scale: 1", "the maps differ", {1, 2, 3, 4}, {1, 4, 3, 5}),
    ProposalBad("Images", "ratio: 1 scale: 1", "height, width and scales", {1, 2, 3, 4},
                {1, 4, 3, 4}, {1, 2}),
};
INSTANTIATE_TEST_SUITE_P(Proposal, BadLayerCases, ::testing::ValuesIn(kProposalBadCases),
                         CaseName());

/// One square anchor of 16 pixels in two cells of 16.
class ProposalValues : public ::testing::Test {
 protected:
  Example Propose(const Floats& scores, const Floats& codes, const std::string& more = "") {
    Example example(
        "type: 'Proposal' top: 'rois' top: 'scores' proposal_param { ratio: 1 scale: 1 " + more +
            " }",
        2);
    example.Bottom({1, 2, 1, 2}, scores).Bottom({1, 4, 1, 2}, codes).Bottom({1, 3}, {16, 32, 1});
    return std::move(example.SetUp());
  }
  const Floats still_ = Floats(8, 0);
};

TEST_F(ProposalValues, CodesMoveAnchors) {
  Example example =
      Propose({.9f, .8f, .1f, .2f}, {0, -.5f, 0, 0, 0, std::log(.5f), 0, 0}, "min_size: 8");
  EXPECT_EQ(example.Forward(0), (Floats{0, 12, 0, 20, 15,  // half as wide, half a box to the left
                                        0, 0, 0, 16, 15}));
  EXPECT_EQ(example.Forward(1), (Floats{.2f, .1f}));
}

TEST_F(ProposalValues, SmallBoxesScoreNothing) {
  Example example = Propose({0, 0, .1f, .2f}, {0, 0, 0, 0, 0, std::log(.5f), 0, 0});
  EXPECT_EQ(example.Forward(1), (Floats{.1f, 0}));
}

TEST_F(ProposalValues, BoxesThatOverlapGiveWay) {
  Example example = Propose({0, 0, .1f, .2f}, {0, -1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(example.Forward(1), (Floats{.2f}));
  EXPECT_EQ(example.TopShape(0), (std::vector<int>{1, 5}));
  Example limited = Propose({0, 0, .1f, .2f}, still_, "post_nms_topn: 1");
  EXPECT_EQ(limited.Forward(0), (Floats{0, 16, 0, 31, 15}));
}

TEST_F(ProposalValues, RegionsAreTakenAsGiven) {
  Example example = Propose({0, 0, .1f, .2f}, still_);
  example.Forward();
  const Floats ones(example.TopShape(0)[0] * 5, 1);
  EXPECT_EQ(example.Backward(ones, 0), Floats(4, 0));
  EXPECT_EQ(example.Backward(ones, 1), Floats(8, 0));
}

// The well-known anchors of Faster R-CNN: ratios 0.5, 1, 2 at scale 8.
TEST(ProposalAnchors, AreThoseOfFasterRcnn) {
  Example example(
      "type: 'Proposal' proposal_param { ratio: 0.5 ratio: 1 ratio: 2 scale: 8 post_nms_topn: 3 "
      "nms_thresh: 1 min_size: 0 }");
  Floats codes(12, 0);  // moved into the image by whole boxes
  codes[0] = codes[1] = codes[4] = codes[5] = codes[8] = codes[9] = 1;
  example.Bottom({1, 6, 1, 1}, {0, 0, 0, .3f, .2f, .1f}).Bottom({1, 12, 1, 1}, codes);
  example.Bottom({1, 3}, {1000, 1000, 1}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 100, 56, 284, 152,  //
                                       0, 72, 72, 200, 200,   //
                                       0, 52, 96, 140, 272}));
}

}  // namespace
}  // namespace caffe
