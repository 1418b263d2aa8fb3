#include <filesystem>
#include <fstream>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

// Two images: in the first two cats (label 1), one of them difficult, and a dog (2).
const Floats kEvaluatedTruths = {0, 1, 0, .1f, .1f, .3f, .3f, 0,  //
                                 0, 1, 1, .6f, .6f, .8f, .8f, 1,  //
                                 0, 2, 0, .4f, .1f, .6f, .3f, 0,  //
                                 1, 2, 0, 0,   0,   .5f, .5f, 0};
const Floats kDetections = {0, 1,  .5f, .1f,  .1f,  .3f, .29f,  // the first cat, but not the best
                            0, 1,  .9f, .11f, .1f,  .3f, .3f,   // the first cat
                            0, 1,  .8f, .6f,  .61f, .8f, .8f,   // the difficult cat
                            0, 2,  .7f, .1f,  .1f,  .3f, .3f,   // a cat taken for a dog
                            1, 1,  .6f, 0,    0,    .5f, .5f,   // a dog taken for a cat
                            1, -1, -1,  -1,   -1,   -1,  -1};

std::vector<double> Doubles(const Floats& values) { return {values.begin(), values.end()}; }

LayerCase DetectionEvaluateCase(const char* name, const std::string& param) {
  return LayerCase(name, "type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 " +
                             param + " }")
      .Values({1, 1, 6, 7}, Doubles(kDetections))
      .Values({1, 1, 4, 8}, Doubles(kEvaluatedTruths))
      .WithoutGradients()
      .Detour({{1, 1, 0, 7}, {1, 1, 0, 8}});
}
const std::vector<LayerCase> kDetectionEvaluateCases = {
    DetectionEvaluateCase("Plain", ""),
    DetectionEvaluateCase("Easy", "evaluate_difficult_gt: false")};
INSTANTIATE_TEST_SUITE_P(DetectionEvaluate, LayerCases,
                         ::testing::ValuesIn(kDetectionEvaluateCases), CaseName());

BadLayerCase DetectionEvaluateBad(const char* name, const std::string& param,
                                  const std::string& wanted,
                                  std::vector<int> detections = {1, 1, 2, 7},
                                  std::vector<int> truths = {1, 1, 2, 8}) {
  return BadLayerCase(name, "type: 'DetectionEvaluate' detection_evaluate_param { " + param + " }")
      .Bottom(detections)
      .Bottom(truths)
      .Says(wanted);
}
const std::vector<BadLayerCase> kDetectionEvaluateBadCases = {
    DetectionEvaluateBad("Classes", "", "num_classes must be given"),
    DetectionEvaluateBad("Threshold", "num_classes: 3 overlap_threshold: 0",
                         "overlap_threshold must be positive"),
    DetectionEvaluateBad("Landmarks", "num_classes: 3 has_lm: true", "has_lm"),
    DetectionEvaluateBad("Sizes", "num_classes: 3 name_size_file: '/none'",
                         "/none: there is no such file"),
    DetectionEvaluateBad("Detections", "num_classes: 3", "detections of shape .1, 1, N, 7.",
                         {1, 1, 2, 6}),
    DetectionEvaluateBad("Truths", "num_classes: 3", "true boxes of shape .1, 1, N, 8.",
                         {1, 1, 2, 7}, {2, 8}),
};
INSTANTIATE_TEST_SUITE_P(DetectionEvaluate, BadLayerCases,
                         ::testing::ValuesIn(kDetectionEvaluateBadCases), CaseName());

Floats Evaluate(const std::string& param, const Floats& detections = kDetections) {
  Example example("type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 " + param +
                  " }");
  example.Bottom({1, 1, int(detections.size() / 7), 7}, detections);
  example.Bottom({1, 1, 4, 8}, kEvaluatedTruths).SetUp();
  return example.Forward();
}

TEST(DetectionEvaluateValues, EachTrueBoxIsFoundOnce) {
  EXPECT_EQ(Evaluate(""), (Floats{-1, 1, 2,   -1, -1,  //
                                  -1, 2, 2,   -1, -1,  //
                                  0,  1, .9f, 1,  0,   //
                                  0,  1, .8f, 1,  0,   //
                                  0,  1, .5f, 0,  1,   //
                                  0,  2, .7f, 0,  1,   //
                                  1,  1, .6f, 0,  1}));
}

TEST(DetectionEvaluateValues, DifficultOnesCountForNothing) {
  const Floats rows = Evaluate("evaluate_difficult_gt: false");
  EXPECT_EQ(rows[2], 1);
  EXPECT_EQ(Floats(rows.begin() + 15, rows.begin() + 20), (Floats{0, 1, .8f, 0, 0}));
}

TEST(DetectionEvaluateValues, TheOverlapMustBeLargeEnough) {
  const Floats rows = Evaluate("overlap_threshold: 0.99");
  for (int i = 2; i < 7; ++i) EXPECT_EQ(rows[i * 5 + 4], 1) << i;
}

// 1.9 x 1.9 of 2 x 2 pixels less: the corners' pixels are counted whole.
TEST(DetectionEvaluateValues, SizesMakeThemPixels) {
  const std::string file = NewFileName();
  std::ofstream(file) << "a 10 10\nb 10 10\n";
  const Floats cat = {0, 1, .9f, .1f, .1f, .2f, .2f};
  const std::string param = "overlap_threshold: 0.4";
  EXPECT_EQ(Evaluate(param, cat)[13], 0);
  EXPECT_EQ(Evaluate(param + " name_size_file: '" + file + "'", cat)[13], 1) << "4 of 9 pixels";
}

}  // namespace
}  // namespace caffe
