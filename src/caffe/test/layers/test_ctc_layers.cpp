// CTCLoss, CtcLoss, WarpCTCLoss, CTCGreedyDecoder, LabelsequenceAccuracy.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

// Labels (2, 3) with a blank (0) as filling, then with a repeated label, which needs a blank.
const std::vector<double> kLabels = {2, 1, 0, 3, 3, 1};

std::vector<LayerCase> Cases() {
  const Bottom logits = {{6, 2, 4}};
  const Bottom labels = {{2, 3}, Fill::LABELS, false, 4, kLabels};
  std::vector<LayerCase> cases = {
      {"Labels", "type: 'CTCLoss'", {logits, labels}},
      {"FewSteps",
       "type: 'CTCLoss' ctc_loss_param { blank_label: 3 alphabet_size: 4 time_step: 4 }",
       {logits, {{2, 3, 1, 1}, Fill::LABELS, false, 4, {2, -1, -1, 0, 0, 1}}}},
      {"Impossible",
       "type: 'CTCLoss'",
       {{{2, 2, 4}}, {{2, 3}, Fill::LABELS, false, 4, {1, 2, 0, 1, 1, 0}}}},
      {"NoLabels", "type: 'CTCLoss'", {{{3, 1, 4}}, {{1, 2}, Fill::LABELS, false, 4, {0, 0}}}},
      {"Indicators",
       "type: 'CTCLoss'",
       {logits,
        {{6, 2}, Fill::LABELS, false, 2, {0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1}},
        {{3, 2}, Fill::LABELS, false, 4, {2, 3, 1, 1, -1, -1}}}},
      {"OneSequence",
       "type: 'CtcLoss' ctc_loss_param { blank_label: 3 }",
       {{{5, 1, 4}}, {{1, 2}, Fill::LABELS, false, 3, {2, 2}}}},
      {"Warp", "type: 'WarpCTCLoss'", {{{5, 1, 4}}, {{1, 2}, Fill::LABELS, false, 4, {2, 1}}}},
  };
  for (LayerCase& c : cases) {
    c.tolerance = 4;  // differences of logarithms
    c.detour = {{6, 3, 4}, {3, 3}};
    if (c.bottoms.size() > 2) c.detour = {{6, 3, 4}, {6, 3}, {3, 3}};
  }
  cases.push_back({"Decoder",
                   "type: 'CTCGreedyDecoder'",
                   {{{kOddH, kOddN, kOddC}}},
                   1,
                   false,
                   false,
                   1,
                   -1,
                   {{3, kOddN, 5}}});
  cases.push_back({"DecoderIndicators",
                   "type: 'CTCGreedyDecoder' ctc_decoder_param { ctc_merge_repeated: false }",
                   {{{6, 3, 4}}, {{6, 3}, Fill::LABELS, false, 2}},
                   2,
                   false,
                   false});
  cases.push_back({"DecoderLabels",
                   "type: 'CTCGreedyDecoder' ctc_decoder_param { blank_index: -1 }",
                   {{{6, 3, 4}}, {{3, 2}, Fill::LABELS, false, 4}},
                   1,
                   false,
                   false,
                   1,
                   -1,
                   {{6, 2, 4}, {2, 2}}});
  cases.push_back(
      {"DecoderAll",
       "type: 'CTCGreedyDecoder'",
       {{{6, 3, 4}}, {{6, 3}, Fill::LABELS, false, 2}, {{5, 3}, Fill::LABELS, false, 4}},
       3,
       false,
       false,
       1,
       -1,
       {{6, 2, 4}, {6, 2}, {2, 2}}});
  cases.push_back({"Accuracy",
                   "type: 'LabelsequenceAccuracy'",
                   {{{kOddN, 2, 2}}, {{kOddN, 2}, Fill::LABELS, false, 2}},
                   1,
                   false,
                   false});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Ctc, LayerCases, ::testing::ValuesIn(Cases()), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"Axes", "type: 'CTCLoss'", {{{3, 4}}, {{4, 2}}}, "axes .time, batch, classes., not 3 4"},
    {"Blank",
     "type: 'CTCLoss' ctc_loss_param { blank_label: 4 }",
     {{{3, 2, 4}}, {{2, 2}}},
     "blank_label 4 must be less than the number of classes, 4"},
    {"Alphabet",
     "type: 'CtcLoss' ctc_loss_param { alphabet_size: 5 }",
     {{{3, 2, 4}}, {{2, 2}}},
     "alphabet_size 5 must be the number of classes, 4, or left out"},
    {"Steps",
     "type: 'CtcLoss' ctc_loss_param { time_step: 4 }",
     {{{3, 2, 4}}, {{2, 2}}},
     "time_step 4 must be at most the number of steps, 3"},
    {"Labels", "type: 'CTCLoss'", {{{3, 2, 4}}, {{3, 2}}}, "labels, must have 2 items"},
    {"Indicators",
     "type: 'CTCLoss'",
     {{{3, 2, 4}}, {{2, 3}}, {{2, 2}}},
     "indicators, must have shape 3 2, not 2 3"},
    {"IndicatedLabels",
     "type: 'CTCLoss'",
     {{{3, 2, 4}}, {{3, 2}}, {{2, 3}}},
     "labels, must have shape .labels, 2., not 2 3"},
    {"Label",
     "type: 'WarpCTCLoss'",
     {{{3, 1, 4}}, {{1, 2}, Fill::LABELS, false, 4, {1, 4}}},
     "label number 1 is 4: with 4 classes valid are 0 to 3",
     1,
     true},
    {"DecoderAxes", "type: 'CTCGreedyDecoder'", {{{3, 4}}}, "axes .time, batch, classes"},
    {"DecoderBlank",
     "type: 'CTCGreedyDecoder' ctc_decoder_param { blank_index: 4 }",
     {{{3, 2, 4}}},
     "blank_index 4 must be less than the number of classes, 4"},
    {"DecoderLabels",
     "type: 'CTCGreedyDecoder'",
     {{{3, 2, 4}}, {{4, 2}}},
     "bottom 1 must be labels, .* of 2 sequences, or continuation indicators of shape 3 2"},
    {"DecoderTops", "type: 'CTCGreedyDecoder'", {{{3, 2, 4}}}, "there is 1 top, not 2", 2},
    {"DecoderIndicators",
     "type: 'CTCGreedyDecoder'",
     {{{3, 2, 4}}, {{2, 3}}, {{3, 2}}},
     "indicators, must have shape 3 2, not 2 3"},
    {"AccuracyShape",
     "type: 'LabelsequenceAccuracy'",
     {{{3, 2, 4}}, {{2, 3}}},
     "labels .sequences, labels., not 3 2 4 .* and 2 3"},
};
INSTANTIATE_TEST_SUITE_P(Ctc, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

float Logit(double p) { return static_cast<float>(std::log(p)); }

// Two steps, blank 0, label 1: the paths 11, 01, 10 spell "1".
TEST(CtcLossValues, SumsOverPaths) {
  const Floats logits = {Logit(0.25), Logit(0.75), Logit(0.5), Logit(0.5)};
  Example example("type: 'CTCLoss'");
  example.Bottom({2, 1, 2}, logits).Bottom({1, 1}, {1}).SetUp();
  const double p = 0.75 * 0.5 + 0.25 * 0.5 + 0.75 * 0.5;
  EXPECT_FLOAT_EQ(example.loss(), -std::log(p));
  const Floats gradient = example.Backward({1});
  EXPECT_NEAR(gradient[0], 0.25 - 0.25 * 0.5 / p, 1e-6);
  EXPECT_NEAR(gradient[3], 0.5 - (0.75 + 0.25) * 0.5 / p, 1e-6);
}

// Equal labels need a blank between them: of three steps only 1 0 1 is left.
TEST(CtcLossValues, RepeatedLabelsNeedABlank) {
  Example example("type: 'CTCLoss'");
  example.Bottom({3, 1, 2}, Floats(6, 0)).Bottom({1, 2}, {1, 1}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), 3 * std::log(2.));
}

// Every path of four steps through three classes, spelt out.
TEST(CtcLossValues, IsTheSumOverAllPaths) {
  const Floats logits = {0.5, -1, 2, 1, 0, 0.25, -0.5, 1.5, 0, 2, 1, -1};
  for (const std::vector<int>& labels :
       std::vector<std::vector<int>>{{}, {0}, {1}, {0, 1}, {1, 1}, {0, 1, 0}, {1, 0, 1, 0}}) {
    double p = 0;
    for (int path = 0; path < 81; ++path) {
      double product = 1;
      std::vector<int> spelt;
      for (int t = 0, rest = path, before = 2; t < 4; ++t, rest /= 3) {
        const float* x = &logits[3 * t];
        const int c = rest % 3;
        product *= std::exp(x[c]) / (std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2]));
        if (c != 2 && c != before) spelt.push_back(c);
        before = c;
      }
      if (spelt == labels) p += product;
    }
    Floats row(4, 2);
    std::copy(labels.begin(), labels.end(), row.begin());
    Example example("type: 'CTCLoss' ctc_loss_param { blank_label: 2 }");
    example.Bottom({4, 1, 3}, logits).Bottom({1, 4}, row).SetUp();
    EXPECT_NEAR(example.loss(), -std::log(p), 1e-5) << labels.size() << " labels";
  }
}

TEST(CtcLossValues, WhatCannotBeSpeltCostsNothing) {
  Example example("type: 'CTCLoss'");
  example.Bottom({2, 1, 2}, Floats(4, 1)).Bottom({1, 2}, {1, 1}).SetUp();
  EXPECT_EQ(example.loss(), 0);
  EXPECT_EQ(example.Backward({1}), Floats(4, 0));
}

TEST(CtcLossValues, TheForksGradientIsThatOfTheSum) {
  const Floats logits = {1, 2, 3, 4, 5, 6, 0, 1, 0, 1, 0, 1};
  Example mean("type: 'CTCLoss'"), sum("type: 'CtcLoss'");
  mean.Bottom({2, 2, 3}, logits).Bottom({2, 1}, {1, 2}).SetUp();
  sum.Bottom({2, 2, 3}, logits).Bottom({2, 1}, {1, 2}).SetUp();
  EXPECT_EQ(mean.loss(), sum.loss());
  const Floats of_mean = mean.Backward({2}), of_sum = sum.Backward({1});
  for (size_t i = 0; i < of_sum.size(); ++i) EXPECT_FLOAT_EQ(of_mean[i], of_sum[i]);
}

// Scores whose best classes are these.
Floats Scores(const std::vector<int>& best, int classes) {
  Floats scores;
  for (int label : best) {
    for (int c = 0; c < classes; ++c) scores.push_back(c == label);
  }
  return scores;
}

TEST(CtcDecoderValues, MergesAndLeavesBlanksOut) {
  Example example("type: 'CTCGreedyDecoder'");
  // Two sequences, step by step: 1 1 0 1 2 and 0 0 0 0 0.
  example.Bottom({5, 2, 3}, Scores({1, 0, 1, 0, 0, 0, 1, 0, 2, 0}, 3)).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 1, 2, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(example.TopShape(), (Shape{2, 5, 1, 1}));
}

TEST(CtcDecoderValues, StopsAtIndicators) {
  Example example("type: 'CTCGreedyDecoder' ctc_decoder_param { ctc_merge_repeated: false }", 2);
  example.Bottom({3, 1, 2}, Scores({1, 1, 1}, 2)).Bottom({3, 1}, {0, 1, 0}).SetUp();
  EXPECT_EQ(example.Forward(0), (Floats{1, 1, -1}));
  EXPECT_EQ(example.Forward(1), (Floats{-2}));
}

// Reads 1 2 3 where 1 3 is right, and 2 where 2 is: one error in three labels.
TEST(CtcDecoderValues, MeasuresErrors) {
  const Floats scores = Scores({1, 0, 2, 2, 3, 0}, 4);
  Example example("type: 'CTCGreedyDecoder'");
  example.Bottom({3, 2, 4}, scores).Bottom({2, 2}, {1, 3, 2, 0}).SetUp();
  const Floats accuracy = example.Forward();
  EXPECT_EQ(example.TopShape(), (Shape{1, 2, 1, 1}));
  EXPECT_FLOAT_EQ(accuracy[0], 1 - 1 / 6.f);
  EXPECT_FLOAT_EQ(accuracy[1], 0.5);
  Example all("type: 'CTCGreedyDecoder'", 2);
  all.Bottom({3, 2, 4}, scores).Bottom({3, 2}, {0, 0, 1, 1, 1, 1});
  all.Bottom({3, 2}, {1, 2, 3, -1, -1, -1}).SetUp();
  EXPECT_FLOAT_EQ(all.Forward(1)[0], 1 - 1 / 6.f);
}

TEST(LabelsequenceAccuracyValues, CountsWholeSequences) {
  Example example("type: 'LabelsequenceAccuracy' labelsequence_accuracy_param { blank_label: 2 }");
  example.Bottom({2, 3, 3}, Scores({0, 0, 1, 1, 2, 1}, 3)).Bottom({2, 2}, {0, 1, 1, 2}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0.5}));
}

}  // namespace
}  // namespace caffe
