// CTCLoss, CtcLoss, WarpCTCLoss, CTCGreedyDecoder, LabelsequenceAccuracy.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

// Labels (2, 3) with a blank (0) as filling, then with a repeated label, which needs a blank.
const std::vector<double> kLabels = {2, 1, 0, 3, 3, 1};

std::vector<LayerCase> CtcCases() {
  const Bottom logits({6, 2, 4});
  const Bottom labels = Bottom({2, 3}).Labels(4).Values(kLabels).WithoutGradient();
  std::vector<LayerCase> cases = {
      LayerCase("Labels", "type: 'CTCLoss'").Bottom(logits).Bottom(labels),
      LayerCase("FewSteps",
                "type: 'CTCLoss' ctc_loss_param { blank_label: 3 alphabet_size: 4 time_step: 4 }")
          .Bottom(logits)
          .Labels({2, 3, 1, 1}, 4, {2, -1, -1, 0, 0, 1}),
      LayerCase("Impossible", "type: 'CTCLoss'")
          .Bottom({2, 2, 4})
          .Labels({2, 3}, 4, {1, 2, 0, 1, 1, 0}),
      LayerCase("NoLabels", "type: 'CTCLoss'").Bottom({3, 1, 4}).Labels({1, 2}, 4, {0, 0}),
      LayerCase("Indicators", "type: 'CTCLoss'")
          .Bottom(logits)
          .Labels({6, 2}, 2, {0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1})
          .Labels({3, 2}, 4, {2, 3, 1, 1, -1, -1}),
      LayerCase("OneSequence", "type: 'CtcLoss' ctc_loss_param { blank_label: 3 }")
          .Bottom({5, 1, 4})
          .Labels({1, 2}, 3, {2, 2}),
      LayerCase("Warp", "type: 'WarpCTCLoss'").Bottom({5, 1, 4}).Labels({1, 2}, 4, {2, 1}),
  };
  for (LayerCase& c : cases) {
    c.tolerance = 4;  // differences of logarithms
    c.detour = {{6, 3, 4}, {3, 3}};
    if (c.bottoms.size() > 2) c.detour = {{6, 3, 4}, {6, 3}, {3, 3}};
  }
  cases.push_back(LayerCase("Decoder", "type: 'CTCGreedyDecoder'")
                      .Bottom({kOddH, kOddN, kOddC})
                      .WithoutGradients()
                      .Detour({{3, kOddN, 5}}));
  cases.push_back(
      LayerCase("DecoderIndicators",
                "type: 'CTCGreedyDecoder' ctc_decoder_param { ctc_merge_repeated: false }")
          .Bottom({6, 3, 4})
          .Labels({6, 3}, 2)
          .Tops(2)
          .WithoutGradients());
  cases.push_back(
      LayerCase("DecoderLabels", "type: 'CTCGreedyDecoder' ctc_decoder_param { blank_index: -1 }")
          .Bottom({6, 3, 4})
          .Labels({3, 2}, 4)
          .WithoutGradients()
          .Detour({{6, 2, 4}, {2, 2}}));
  cases.push_back(LayerCase("DecoderAll", "type: 'CTCGreedyDecoder'")
                      .Bottom({6, 3, 4})
                      .Labels({6, 3}, 2)
                      .Labels({5, 3}, 4)
                      .Tops(3)
                      .WithoutGradients()
                      .Detour({{6, 2, 4}, {6, 2}, {2, 2}}));
  cases.push_back(LayerCase("Accuracy", "type: 'LabelsequenceAccuracy'")
                      .Bottom({kOddN, 2, 2})
                      .Labels({kOddN, 2}, 2)
                      .WithoutGradients());
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Ctc, LayerCases, ::testing::ValuesIn(CtcCases()), CaseName());

const std::vector<BadLayerCase> kCtcBadCases = {
    BadLayerCase("Axes", "type: 'CTCLoss'")
        .Bottom({3, 4})
        .Bottom({4, 2})
        .Says("axes .time, batch, classes., not 3 4"),
    BadLayerCase("Blank", "type: 'CTCLoss' ctc_loss_param { blank_label: 4 }")
        .Bottom({3, 2, 4})
        .Bottom({2, 2})
        .Says("blank_label 4 must be less than the number of classes, 4"),
    BadLayerCase("Alphabet", "type: 'CtcLoss' ctc_loss_param { alphabet_size: 5 }")
        .Bottom({3, 2, 4})
        .Bottom({2, 2})
        .Says("alphabet_size 5 must be the number of classes, 4, or left out"),
    BadLayerCase("Steps", "type: 'CtcLoss' ctc_loss_param { time_step: 4 }")
        .Bottom({3, 2, 4})
        .Bottom({2, 2})
        .Says("time_step 4 must be at most the number of steps, 3"),
    BadLayerCase("Labels", "type: 'CTCLoss'")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Says("labels, must have 2 items"),
    BadLayerCase("Indicators", "type: 'CTCLoss'")
        .Bottom({3, 2, 4})
        .Bottom({2, 3})
        .Bottom({2, 2})
        .Says("indicators, must have shape 3 2, not 2 3"),
    BadLayerCase("IndicatedLabels", "type: 'CTCLoss'")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Bottom({2, 3})
        .Says("labels, must have shape .labels, 2., not 2 3"),
    BadLayerCase("Label", "type: 'WarpCTCLoss'")
        .Bottom({3, 1, 4})
        .Labels({1, 2}, 4, {1, 4})
        .InForward()
        .Says("label number 1 is 4: with 4 classes valid are 0 to 3"),
    BadLayerCase("DecoderAxes", "type: 'CTCGreedyDecoder'")
        .Bottom({3, 4})
        .Says("axes .time, batch, classes"),
    BadLayerCase("DecoderBlank", "type: 'CTCGreedyDecoder' ctc_decoder_param { blank_index: 4 }")
        .Bottom({3, 2, 4})
        .Says("blank_index 4 must be less than the number of classes, 4"),
    BadLayerCase("DecoderLabels", "type: 'CTCGreedyDecoder'")
        .Bottom({3, 2, 4})
        .Bottom({4, 2})
        .Says(
            "bottom 1 must be labels, .* of 2 sequences, or continuation indicators of shape 3 2"),
    BadLayerCase("DecoderTops", "type: 'CTCGreedyDecoder'")
        .Bottom({3, 2, 4})
        .Tops(2)
        .Says("there is 1 top, not 2"),
    BadLayerCase("DecoderIndicators", "type: 'CTCGreedyDecoder'")
        .Bottom({3, 2, 4})
        .Bottom({2, 3})
        .Bottom({3, 2})
        .Says("indicators, must have shape 3 2, not 2 3"),
    BadLayerCase("AccuracyShape", "type: 'LabelsequenceAccuracy'")
        .Bottom({3, 2, 4})
        .Bottom({2, 3})
        .Says("labels .sequences, labels., not 3 2 4 .* and 2 3"),
};
INSTANTIATE_TEST_SUITE_P(Ctc, BadLayerCases, ::testing::ValuesIn(kCtcBadCases), CaseName());

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
