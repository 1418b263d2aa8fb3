#include <cmath>
#include <random>

#include "caffe/io/proto_text.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

/// Four priors, the last of which reaches over the border.
std::vector<double> LossPriors() {
  std::vector<double> priors = {.1, .1, .3,  .3,  .15, .1, .35, .3,
                                .5, .5, .75, .75, .8,  .1, 1.1, .4};
  for (int i = 0; i < 4; ++i) priors.insert(priors.end(), {.125, .125, .25, .25});
  return priors;
}

/// Item 0 has a box next to the first two priors and one on the last, item 1 a difficult one.
std::vector<double> Truths() {
  return {0, 1, 0, .1, .1, .3, .35, 0, 0, 2, 0, .8, .1, .95, .4, 0, 1, 2, 0, .5, .5, .7, .7, 1};
}

LayerCase MultiboxLossCase(const char* name, const std::string& param, int loc_classes = 1,
                           const std::string& more = "") {
  return LayerCase(name, "type: 'MultiBoxLoss' " + more + " multibox_loss_param { num_classes: 3 " +
                             param + " }")
      .Bottom({2, 4 * loc_classes * 4})
      .Bottom({2, 4 * 3})
      .Values({1, 2, 16}, LossPriors())
      .Values({1, 1, 3, 8}, Truths());
}

/// The same as the second stage of a detector.
LayerCase SecondStage(const char* name, const std::string& param) {
  return MultiboxLossCase(name, param).Constant({2, 4 * 2}, Fill::POSITIVE).Constant({2, 4 * 4});
}

const std::vector<LayerCase> kMultiboxLossCases = {
    SecondStage("RefineDet", "code_type: CENTER_SIZE objectness_score: 0.75"),
    SecondStage("RefineDetHard",
                "code_type: CENTER_SIZE objectness_score: 1 mining_type: HARD_EXAMPLE"),
    MultiboxLossCase("Defaults", ""),
    MultiboxLossCase("CenterSize",
                     "code_type: CENTER_SIZE overlap_threshold: 0.3 neg_pos_ratio: 1"),
    MultiboxLossCase("Squares", "loc_loss_type: L2 loc_weight: 3 code_type: CORNER_SIZE"),
    MultiboxLossCase("Sigmoids", "conf_loss_type: LOGISTIC match_type: BIPARTITE"),
    MultiboxLossCase("HardExamples",
                     "mining_type: HARD_EXAMPLE sample_size: 2 code_type: CENTER_SIZE"),
    MultiboxLossCase(
        "Suppressed",
        "nms_param { nms_threshold: 0.3 top_k: 10 } use_prior_for_nms: true neg_overlap: 0.9"),
    MultiboxLossCase("All", "mining_type: NONE ignore_cross_boundary_bbox: true"),
    MultiboxLossCase("AllSigmoids", "mining_type: NONE conf_loss_type: LOGISTIC"),
    MultiboxLossCase("EachClass", "share_location: false mining_type: NONE", 3),
    MultiboxLossCase("Inside", "bp_inside: true use_difficult_gt: false code_type: CENTER_SIZE"),
    MultiboxLossCase("Full", "", 1, "loss_param { normalization: FULL }"),
    MultiboxLossCase("ByBatch", "", 1, "loss_param { normalize: false }"),
};
INSTANTIATE_TEST_SUITE_P(MultiBoxLoss, LayerCases, ::testing::ValuesIn(kMultiboxLossCases),
                         CaseName());

BadLayerCase MultiboxLossBad(const char* name, const std::string& param, const std::string& wanted,
                             bool forward = false) {
  return BadLayerCase(name, "type: 'MultiBoxLoss' multibox_loss_param { " + param + " }")
      .Bottom({2, 16})
      .Bottom({2, 12})
      .Values({1, 2, 16}, LossPriors())
      .Values({1, 1, 3, 8}, Truths())
      .InForward(forward)
      .Says(wanted);
}

const std::vector<BadLayerCase> kMultiboxLossBadCases = {
    MultiboxLossBad("Classes", "", "num_classes must be given and positive, got 0"),
    MultiboxLossBad("Background", "num_classes: 3 background_label_id: 3",
                    "background_label_id 3 must be less than num_classes 3"),
    MultiboxLossBad("Agnostic", "num_classes: 3 map_object_to_agnostic: true",
                    "needs num_classes 2, got 3"),
    MultiboxLossBad("Sharing", "num_classes: 3 share_location: false",
                    "mining needs share_location: true"),
    MultiboxLossBad("OldMining", "num_classes: 3 do_neg_mining: false",
                    "do_neg_mining .the old name. contra"),
    MultiboxLossBad("Overlap", "num_classes: 3 overlap_threshold: 0",
                    "overlap_threshold must be positive"),
    MultiboxLossBad("Ratio", "num_classes: 3 neg_pos_ratio: 0", "neg_pos_ratio must be positive"),
    MultiboxLossBad("Samples", "num_classes: 3 mining_type: HARD_EXAMPLE sample_size: 0",
                    "sample_size must be positive"),
    MultiboxLossBad("Scores", "num_classes: 4",
                    "4 priors and num_classes 4 need 16 scores an item, not 12"),
    MultiboxLossBad(
        "Locations", "num_classes: 3 share_location: false mining_type: NONE",
        "4 priors and 3 classes of locations need 48 numbers an item, the locations have 16"),
    MultiboxLossBad("Label", "num_classes: 3 background_label_id: 1",
                    "which is background_label_id", true),
    BadLayerCase("LargeLabel", "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 2 }")
        .Bottom({2, 16})
        .Bottom({2, 8})
        .Values({1, 2, 16}, LossPriors())
        .Values({1, 1, 3, 8}, Truths())
        .InForward()
        .Says("a true box of item 0 has label 2: with num_classes 2 valid are 0 to 1"),
    BadLayerCase("Item", "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Values({1, 2, 16}, LossPriors())
        .Values({1, 1, 3, 8}, Truths())
        .InForward()
        .Says("a true box is of item 1, but the batch has 1"),
    BadLayerCase("FiveBottoms", "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Bottom({1, 2, 16})
        .Bottom({1, 1, 1, 8})
        .Bottom({1, 8})
        .Says("probabilities and locations .bottoms 4 and 5. or neither"),
    BadLayerCase("FirstStage", "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Bottom({1, 2, 16})
        .Bottom({1, 1, 1, 8})
        .Bottom({1, 8})
        .Bottom({1, 12})
        .Says("first stage's locations .bottom 5. must be of shape .1, priors . 4."),
    BadLayerCase(
        "SoftNms",
        "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 nms_param { soft_nms: true } }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Bottom({1, 2, 16})
        .Bottom({1, 1, 1, 8})
        .Says("soft_nms is for DetectionOutput"),
    BadLayerCase("TrueBoxes", "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Bottom({1, 2, 16})
        .Bottom({3, 8})
        .Says("true boxes of shape .1, 1, N, 8., not 3 8"),
    BadLayerCase("Variance", "type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 }")
        .Bottom({1, 4})
        .Bottom({1, 3})
        .Values({1, 2, 4}, {0, 0, 1, 1, 1, 1, 0, 1})
        .Values({1, 1, 1, 8}, {0, 1, 0, 0, 0, 1, 1, 0})
        .InForward()
        .Says("has the variance 0: it must be positive"),
};
INSTANTIATE_TEST_SUITE_P(MultiBoxLoss, BadLayerCases, ::testing::ValuesIn(kMultiboxLossBadCases),
                         CaseName());

/// One item, two classes, three priors of which the first is the true box moved by 0.1; all
/// variances are 0.5.
class MultiBoxLossValues : public ::testing::Test {
 protected:
  Example Loss(const std::string& param, const Floats& truth,
               const Floats& locations = Floats(12, 0), const Floats& scores = {0, 0, 0, 1, 2, 0},
               const Floats& first_probabilities = {}, const Floats& first_locations = {}) {
    Example example("type: 'MultiBoxLoss' multibox_loss_param { num_classes: 2 " + param + " }");
    Floats priors = {0, 0, .4f, .4f, .5f, .5f, .7f, .7f, .7f, .7f, .9f, .9f};
    priors.resize(24, 0.5f);
    example.Bottom({1, 12}, locations).Bottom({1, 6}, scores).Bottom({1, 2, 12}, priors);
    example.Bottom({1, 1, 1, 8}, truth);
    if (!first_probabilities.empty()) {
      example.Bottom({1, 6}, first_probabilities).Bottom({1, 12}, first_locations);
    }
    example.SetUp();
    return example;
  }
  const Floats moved_ = {0, 1, 0, .1f, 0, .5f, .4f, 0};
  const Floats none_ = {-1, -1, -1, -1, -1, -1, -1, -1};
  const double two_ = std::log(2.), e_ = std::log(1 + std::exp(1.)),
               e2_ = std::log(1 + std::exp(2.));
};

// The matched prior and, of the two others, the one that loses more as background.
TEST_F(MultiBoxLossValues, IsOfTheMatchedAndOfTheHardestNegatives) {
  EXPECT_NEAR(Loss("neg_pos_ratio: 1", moved_).loss(), 2 * .5 * .2 * .2 + two_ + e_, 1e-6);
  EXPECT_NEAR(Loss("neg_pos_ratio: 2", moved_).loss(), 2 * .5 * .2 * .2 + two_ + e_ + (e2_ - 2),
              1e-6);
}

TEST_F(MultiBoxLossValues, TheLocationsAreWeighted) {
  EXPECT_NEAR(
      Loss("neg_pos_ratio: 1 loc_weight: 10 loc_loss_type: L2 code_type: CENTER_SIZE", moved_)
          .loss(),
      10 * .5 * .5 * .5 + two_ + e_, 1e-5);
}

// RefineDet's first stage moves the first prior onto the true box.
TEST_F(MultiBoxLossValues, AFirstStageMovesThePriors) {
  Floats moves(12, 0);
  moves[0] = moves[2] = .2f;
  const Floats objects = {0, 1, 0, 1, 0, 1}, scores = {0, 0, 0, 1, 2, 0};
  Example example = Loss("neg_pos_ratio: 1", moved_, Floats(12, 0), scores, objects, moves);
  EXPECT_NEAR(example.loss(), two_ + e_, 1e-6);
  for (const float gradient : example.Backward({1})) EXPECT_NEAR(gradient, 0, 1e-6);
}

TEST_F(MultiBoxLossValues, NegativesThatAFirstStageIsSureOfAreNotMined) {
  const Floats scores = {0, 0, 0, 1, 2, 0};
  const Floats sure = {.995f, .005f, .995f, .005f, .98f, .02f};
  const double matched = 2 * .5 * .2 * .2 + two_;
  const std::string param = "neg_pos_ratio: 1 ";
  EXPECT_NEAR(Loss(param, moved_, Floats(12, 0), scores, sure, Floats(12, 0)).loss(),
              matched + (e2_ - 2), 1e-6);
  EXPECT_NEAR(
      Loss(param + "objectness_score: 0.001", moved_, Floats(12, 0), scores, sure, Floats(12, 0))
          .loss(),
      matched + e_, 1e-6);
}

// Predicted 2 too far: |2| - 1/2.
TEST_F(MultiBoxLossValues, LargeErrorsCountOnce) {
  Floats locations(12, 0);
  locations[0] = 2.2f;
  locations[2] = .2f;
  Example example = Loss("neg_pos_ratio: 1", moved_, locations);
  EXPECT_NEAR(example.loss(), 1.5 + two_ + e_, 1e-5);
  const Floats gradient = example.Backward({2});
  EXPECT_FLOAT_EQ(gradient[0], 2);
  EXPECT_NEAR(gradient[2], 0, 1e-6);
}

TEST_F(MultiBoxLossValues, GradientsOfScoresAreProbabilities) {
  Example example = Loss("neg_pos_ratio: 1", moved_);
  example.Forward();
  const Floats gradient = example.Backward({1}, 1);
  const double p = 1 / (1 + std::exp(-1.));
  const double wanted[] = {.5, -.5, -p, p, 0, 0};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(gradient[i], wanted[i], 1e-6) << i;
}

TEST_F(MultiBoxLossValues, AnImageWithoutBoxesHasNoNegatives) {
  EXPECT_EQ(Loss("", none_).loss(), 0);
  EXPECT_NEAR(Loss("mining_type: NONE", none_).loss(), two_ + e_ + (e2_ - 2), 1e-6);
}

// Each sigmoid's loss of a score x is log(1 + e^x), less x for the label.
TEST_F(MultiBoxLossValues, SigmoidsAreSummed) {
  const double zero = two_;
  EXPECT_NEAR(Loss("neg_pos_ratio: 1 conf_loss_type: LOGISTIC", moved_).loss(),
              .04 + 2 * zero + (zero + e_), 1e-6);
  EXPECT_NEAR(Loss("mining_type: NONE conf_loss_type: LOGISTIC", none_).loss(),
              2 * zero + (zero + e_) + (zero + e2_), 1e-6);
}

TEST_F(MultiBoxLossValues, DifficultBoxesMayBeLeftOut) {
  Floats difficult = moved_;
  difficult[7] = 1;
  EXPECT_EQ(Loss("use_difficult_gt: false", difficult).loss(), 0);
}

TEST_F(MultiBoxLossValues, VariancesInTheTargetScaleTheLossOnly) {
  Floats locations(12, 0);
  locations[0] = .1f;
  locations[2] = .2f;  // 0.1 more than right
  Example example = Loss("neg_pos_ratio: 1 encode_variance_in_target: true", moved_, locations);
  EXPECT_NEAR(example.loss(), .5 * .2 * .2 + two_ + e_, 1e-6);
  EXPECT_NEAR(example.Backward({1})[2], .2, 1e-6);
}

/// The loss by the steps that the SSD fork's own layer takes, on messages.
double LossInSteps(const MultiBoxLossParameter& param, const Blob<float>& locations,
                   const Blob<float>& scores, const Blob<float>& priors,
                   const Blob<float>& labels) {
  const int num = locations.num(), classes = param.num_classes();
  const int num_priors = priors.shape(2) / 4;
  std::map<int, vector<NormalizedBBox>> truths;
  GetGroundTruth(labels.cpu_data(), labels.height(), param.background_label_id(), true, &truths);
  vector<NormalizedBBox> prior_boxes;
  vector<vector<float>> variances;
  GetPriorBBoxes(priors.cpu_data(), num_priors, &prior_boxes, &variances);
  vector<LabelBBox> predictions;
  GetLocPredictions(locations.cpu_data(), num, num_priors, param.share_location() ? 1 : classes,
                    param.share_location(), &predictions);
  vector<std::map<int, vector<float>>> overlaps;
  vector<std::map<int, vector<int>>> indices;
  FindMatches(predictions, truths, prior_boxes, variances, param, &overlaps, &indices);
  int matches = 0, negatives = 0;
  vector<vector<int>> negative_indices;
  MineHardExamples(scores, predictions, truths, prior_boxes, variances, overlaps, param, &matches,
                   &negatives, &indices, &negative_indices);
  EXPECT_EQ(matches, CountNumMatches(indices, num));
  EXPECT_GT(matches, 0);
  vector<float> location(4 * matches), target(4 * matches);
  EncodeLocPrediction(predictions, truths, indices, prior_boxes, variances, param, location.data(),
                      target.data());
  double loss = 0;
  for (size_t i = 0; i < location.size(); ++i) {
    const double d = std::fabs(location[i] - target[i]);
    loss += d < 1 ? d * d / 2 : d - 0.5;
  }
  const bool mining = param.mining_type() != MultiBoxLossParameter_MiningType_NONE;
  const int rows = mining ? matches + negatives : num * num_priors;
  const bool softmax = param.conf_loss_type() == MultiBoxLossParameter_ConfLossType_SOFTMAX;
  vector<float> rows_of_scores(size_t(rows) * classes),
      wanted(softmax ? rows : size_t(rows) * classes,
             softmax ? float(param.background_label_id()) : 0.f);
  EncodeConfPrediction(scores.cpu_data(), num, num_priors, param, indices, negative_indices, truths,
                       rows_of_scores.data(), wanted.data());
  const float* x = mining ? rows_of_scores.data() : scores.cpu_data();
  for (int i = 0; i < rows; ++i, x += classes) {
    double sum = 0;
    for (int c = 0; c < classes; ++c) {
      sum += std::exp(x[c]);
      if (!softmax) loss += std::log1p(std::exp(x[c])) - wanted[i * classes + c] * x[c];
    }
    if (softmax) loss += std::log(sum) - x[int(wanted[i])];
  }
  return loss / matches;
}

class MultiBoxSteps : public ::testing::TestWithParam<const char*> {};

TEST_P(MultiBoxSteps, GiveTheLayersLoss) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&](float least, float most) {
    return std::uniform_real_distribution<float>(least, most)(random);
  };
  constexpr int kItems = 3, kPriors = 40, kClasses = 4;
  LayerParameter layer;
  ParseProtoText("name: 'loss' type: 'MultiBoxLoss' multibox_loss_param { num_classes: 4 " +
                     string(GetParam()) + " }",
                 "test layer", &layer);
  const MultiBoxLossParameter& param = layer.multibox_loss_param();
  const int loc_classes = param.share_location() ? 1 : kClasses;
  using Axes = vector<int>;
  Blob<float> locations(Axes{kItems, kPriors * loc_classes * 4}), loss;
  Blob<float> scores(Axes{kItems, kPriors * kClasses});
  Blob<float> priors(Axes{1, 2, kPriors * 4}), labels(Axes{1, 1, 5, 8});
  for (Blob<float>* blob : {&locations, &scores}) {
    for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = draw(-1, 1);
  }
  const auto set_box = [&](float* to) {
    const float x = draw(0, 0.6f), y = draw(0, 0.6f);
    const float box[] = {x, y, x + draw(0.2f, 0.5f), y + draw(0.2f, 0.5f)};
    std::copy_n(box, 4, to);
  };
  for (int i = 0; i < kPriors; ++i) set_box(priors.mutable_cpu_data() + 4 * i);
  for (int i = 0; i < 4 * kPriors; ++i) {
    priors.mutable_cpu_data()[4 * kPriors + i] = i % 4 < 2 ? 0.1f : 0.2f;
  }
  // Item 1 has no true boxes.
  for (int i = 0; i < 5; ++i) {
    float* row = labels.mutable_cpu_data() + 8 * i;
    row[0] = i < 2 ? 0 : 2;
    row[1] = 1 + i % 3;
    row[2] = 0;
    set_box(row + 3);
    row[7] = 0;
  }
  const auto made = LayerRegistry<float>::CreateLayer(layer);
  const vector<Blob<float>*> bottoms = {&locations, &scores, &priors, &labels}, tops = {&loss};
  made->SetUp(bottoms, tops);
  made->Forward(bottoms, tops);
  EXPECT_NEAR(LossInSteps(param, locations, scores, priors, labels), loss.cpu_data()[0],
              1e-4 * loss.cpu_data()[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Parameters, MultiBoxSteps,
    ::testing::Values("", "mining_type: NONE", "code_type: CENTER_SIZE",
                      "mining_type: NONE share_location: false",
                      "mining_type: NONE share_location: false use_prior_for_matching: false",
                      "mining_type: NONE conf_loss_type: LOGISTIC",
                      "conf_loss_type: LOGISTIC neg_pos_ratio: 2",
                      "mining_type: HARD_EXAMPLE sample_size: 20",
                      "code_type: CENTER_SIZE encode_variance_in_target: true bp_inside: true",
                      "bp_inside: true use_prior_for_matching: false",
                      "nms_param { nms_threshold: 0.5 } use_prior_for_nms: true",
                      "match_type: BIPARTITE ignore_cross_boundary_bbox: true"));

}  // namespace
}  // namespace caffe
