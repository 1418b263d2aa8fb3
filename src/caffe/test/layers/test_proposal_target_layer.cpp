#include <algorithm>
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const Bottom kProposals =
    Bottom({4, 5})
        .Values({0, 0, 0, 15, 15, 0, 8, 0, 23, 15, 0, 40, 0, 55, 15, 0, 50, 2, 70, 30})
        .WithoutGradient();
const Bottom kProposalTruths =
    Bottom({2, 5}).Values({0, 0, 15, 19, 1, 48, 0, 71, 31, 2}).WithoutGradient();

const std::vector<LayerCase> kProposalTargetCases = {
    LayerCase(
        "All",
        "type: 'ProposalTarget' python_param { param_str: \"'num_classes': 3, 'batch_size': -1\" }")
        .Bottom(kProposals)
        .Bottom(kProposalTruths)
        .Tops(5)
        .WithoutGradients(),
    LayerCase("Some",
              "type: 'ProposalTarget' python_param { param_str: \"'num_classes': 2, 'agnostic': "
              "True, 'batch_size': 3\" }")
        .Bottom(kProposals)
        .Bottom(kProposalTruths)
        .Tops(5)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(ProposalTarget, LayerCases, ::testing::ValuesIn(kProposalTargetCases),
                         CaseName());

BadLayerCase ProposalTargetBad(const char* name, const std::string& param,
                               const std::string& wanted, std::vector<int> proposals = {3, 5},
                               std::vector<int> truths = {1, 5}) {
  return BadLayerCase(name, "type: 'ProposalTarget' python_param { param_str: \"" + param + "\" }")
      .Bottom(proposals)
      .Bottom(truths)
      .Tops(5)
      .Says(wanted);
}
const std::vector<BadLayerCase> kProposalTargetBadCases = {
    ProposalTargetBad("Classes", "'num_classes': 1",
                      "num_classes counts the background too.*not 1"),
    ProposalTargetBad("Batch", "'batch_size': 0",
                      "batch_size must be positive, or -1 for all regions, got 0"),
    ProposalTargetBad("Fraction", "'fg_fraction': -1", "fg_fraction is a share of batch_size"),
    ProposalTargetBad("Means", "'bbox_normalize_means': 1", "are 4 numbers each, not 4, 1 and 4"),
    ProposalTargetBad("Deviation", "'bbox_normalize_stds': [1, 1, 0, 1]",
                      "bbox_normalize_stds must be positive, got 0"),
    ProposalTargetBad("Unknown", "'classes': 2", "there is no setting 'classes'"),
    ProposalTargetBad("Proposals", "", "rows of item and corners, not 3 4", {3, 4}),
    ProposalTargetBad("Truths", "", "rows of corners and class, not 1 4", {3, 5}, {1, 4}),
};
INSTANTIATE_TEST_SUITE_P(ProposalTarget, BadLayerCases,
                         ::testing::ValuesIn(kProposalTargetBadCases), CaseName());

enum ProposalTop {
  kProposalRois,
  kProposalLabels,
  kProposalTargets,
  kProposalInside,
  kProposalOutside
};

class ProposalTargetValues : public ::testing::Test {
 protected:
  Example Make(const Floats& proposals, const Floats& truths, const std::string& more = "") {
    Example example(
        "type: 'ProposalTarget' python_param { param_str: \"'num_classes': 3, " + more + "\" }", 5);
    example.Bottom({int(proposals.size()) / 5, 5}, proposals)
        .Bottom({int(truths.size()) / 5, 5}, truths);
    return std::move(example.SetUp());
  }
  // Overlaps with the box of class 2: 3/5, 1/3 and 0.
  const Floats proposals_ = {0, 4, 0, 19, 15, 0, 8, 0, 23, 15, 0, 100, 0, 115, 15};
  const Floats truth_ = {0, 0, 15, 15, 2};
  const std::string plain_ = "'bbox_normalize_stds': [1, 1, 1, 1], ";
};

TEST_F(ProposalTargetValues, ObjectsComeFirstThenBackground) {
  Example example = Make(proposals_, truth_);
  EXPECT_EQ(example.Forward(kProposalLabels), (Floats{2, 2, 0, 0}));
  EXPECT_EQ(example.Forward(kProposalRois), (Floats{0, 4,   0, 19,  15,  //
                                                    0, 0,   0, 15,  15,  // the true box itself
                                                    0, 8,   0, 23,  15,  //
                                                    0, 100, 0, 115, 15}));
}

TEST_F(ProposalTargetValues, ThresholdsDecide) {
  EXPECT_EQ(Make(proposals_, truth_, "'fg_thresh': 0.3").Forward(kProposalLabels),
            (Floats{2, 2, 2, 0}));
  EXPECT_EQ(Make(proposals_, truth_, "'bg_thresh_lo': 0.1").Forward(kProposalLabels),
            (Floats{2, 2, 0}));
  EXPECT_EQ(Make(proposals_, truth_, "'bg_thresh_hi': 0.2").Forward(kProposalLabels),
            (Floats{2, 2, 0}));
}

TEST_F(ProposalTargetValues, TargetsLieAtTheClass) {
  Example example = Make(proposals_, truth_, plain_);
  const Floats targets = example.Forward(kProposalTargets);
  EXPECT_EQ(Floats(targets.begin(), targets.begin() + 12),
            (Floats{0, 0, 0, 0, 0, 0, 0, 0, -.25f, 0, 0, 0}));
  EXPECT_EQ(Floats(targets.begin() + 12, targets.end()), Floats(36, 0));
  const Floats inside = example.Forward(kProposalInside);
  EXPECT_EQ(Floats(inside.begin(), inside.begin() + 12),
            (Floats{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(Floats(inside.begin() + 24, inside.end()), Floats(24, 0));
  EXPECT_EQ(example.Forward(kProposalOutside), inside);
}

TEST_F(ProposalTargetValues, TargetsAreNormalized) {
  EXPECT_FLOAT_EQ(Make(proposals_, truth_).Forward(kProposalTargets)[8], -2.5f);
  const std::string mean = "'bbox_normalize_means': [1, 2, 3, 4]";
  const Floats targets = Make(proposals_, truth_, plain_ + mean).Forward(kProposalTargets);
  EXPECT_EQ(Floats(targets.begin() + 8, targets.begin() + 12), (Floats{-1.25f, -2, -3, -4}));
}

TEST_F(ProposalTargetValues, WithoutClassesTargetsLieAtTheSecondPlace) {
  const Floats targets =
      Make(proposals_, truth_, plain_ + "'agnostic': true").Forward(kProposalTargets);
  EXPECT_FLOAT_EQ(targets[4], -.25f);
}

TEST_F(ProposalTargetValues, OutsideWeightsAreOnesWhereInsideWeightsAreAny) {
  const std::string weights = "'bbox_inside_weights': [3, 0, 2, 1]";
  Example example = Make({}, truth_, weights);
  EXPECT_EQ(example.Forward(kProposalInside), (Floats{0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 2, 1}));
  EXPECT_EQ(example.Forward(kProposalOutside), (Floats{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1}));
}

TEST_F(ProposalTargetValues, WithoutBoxesAllIsBackground) {
  Example example = Make(proposals_, {});
  EXPECT_EQ(example.Forward(kProposalLabels), (Floats{0, 0, 0}));
  EXPECT_EQ(example.TopShape(kProposalTargets), (Shape{3, 12}));
}

TEST_F(ProposalTargetValues, AtMostBatchSizeStayAndTheirShareOfObjects) {
  Caffe::set_random_seed(TestSeed());
  Floats proposals;
  for (int i = 0; i < 6; ++i) proposals.insert(proposals.end(), {0, 0, 0, 15, 15});
  for (int i = 0; i < 6; ++i) proposals.insert(proposals.end(), {0, 90, 0, 99, 9});
  const std::string eight = "'batch_size': 8, 'fg_fraction': ";
  EXPECT_EQ(Make(proposals, truth_, eight + "0.25").Forward(kProposalLabels),
            (Floats{2, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Make(proposals, truth_, eight + "0.9").Forward(kProposalLabels),
            (Floats{2, 2, 2, 2, 2, 2, 2, 0}));
  EXPECT_EQ(Make(proposals, truth_, "'batch_size': -1").Forward(kProposalLabels).size(), 13);
}

TEST_F(ProposalTargetValues, WhichOnesStayIsRandomAndRepeatable) {
  Floats proposals;
  for (int i = 0; i < 20; ++i) proposals.insert(proposals.end(), {0, 90.f + i, 0, 99.f + i, 9});
  const auto rois = [&](unsigned seed) {
    Example example = Make(proposals, truth_, "'batch_size': 8");
    Caffe::set_random_seed(seed);
    return example.Forward(kProposalRois);
  };
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  EXPECT_EQ(rois(seed), rois(seed));
  bool differs = false;
  for (unsigned i = 1; i < 20; ++i) differs |= rois(seed + i) != rois(seed);
  EXPECT_TRUE(differs);
}

TEST_F(ProposalTargetValues, RegionsAreTakenAsGiven) {
  Example example = Make(proposals_, truth_);
  example.Forward();
  EXPECT_EQ(example.Backward(Floats(4 * 5, 1)), Floats(15, 0));
}

TEST_F(ProposalTargetValues, AClassThatThereIsNot) {
  for (const float label : {3.f, 0.f, -1.f}) {
    Example example = Make({}, {0, 0, 15, 15, label});
    EXPECT_THROW(example.Forward(), Error) << label;
  }
}

TEST_F(ProposalTargetValues, ProposalsOfAnotherImage) {
  Example example = Make({1, 0, 0, 15, 15}, truth_);
  EXPECT_THROW(example.Forward(), Error);
}

}  // namespace
}  // namespace caffe
