#include <cmath>
#include <filesystem>
#include <fstream>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

/// Four priors: two that overlap by 2/3, two alone; each with all variances 0.1.
std::vector<double> DetectionPriors() {
  std::vector<double> priors = {.1, .1, .3, .3, .1, .1, .3, .34, .5, .5, .7, .7, .6, .1, .9, .4};
  priors.resize(32, 0.125);
  return priors;
}

LayerCase DetectionOutputCase(const char* name, const std::string& param, int loc_classes = 1) {
  return LayerCase(name, "type: 'DetectionOutput' detection_output_param { num_classes: 3 " +
                             param + " }")
      .Bottom({2, 4 * loc_classes * 4}, Fill::DISTINCT)
      .Bottom({2, 4 * 3}, Fill::DISTINCT)
      .Values({1, 2, 16}, DetectionPriors())
      .WithoutGradients();
}

const std::vector<LayerCase> kDetectionOutputCases = {
    DetectionOutputCase("Defaults", ""),
    DetectionOutputCase(
        "CenterSize",
        "code_type: CENTER_SIZE nms_param { nms_threshold: 0.5 top_k: 3 eta: 0.9 } keep_top_k: 4 "
        "confidence_threshold: 0.1"),
    DetectionOutputCase("EachClass",
                        "share_location: false background_label_id: -1 code_type: CORNER_SIZE", 3),
    DetectionOutputCase("InTarget",
                        "variance_encoded_in_target: true clip: true normalized_bbox: false"),
    DetectionOutputCase("Nothing", "confidence_threshold: 100"),
    DetectionOutputCase("Soft", "soft_nms: true confidence_threshold: 0.01"),
    DetectionOutputCase("RefineDet", "code_type: CENTER_SIZE objectness_score: 0.75")
        .Bottom({2, 4 * 2}, Fill::POSITIVE)
        .Bottom({2, 4 * 4}, Fill::DISTINCT),
};
INSTANTIATE_TEST_SUITE_P(DetectionOutput, LayerCases, ::testing::ValuesIn(kDetectionOutputCases),
                         CaseName());

BadLayerCase DetectionOutputBad(const char* name, const std::string& param,
                                const std::string& wanted, std::vector<int> locations = {1, 16},
                                std::vector<int> scores = {1, 12},
                                std::vector<int> priors = {1, 2, 16}) {
  return BadLayerCase(name, "type: 'DetectionOutput' detection_output_param { " + param + " }")
      .Bottom(locations)
      .Bottom(scores)
      .Bottom(priors)
      .Says(wanted);
}

const std::vector<BadLayerCase> kDetectionOutputBadCases = {
    DetectionOutputBad("Classes", "", "num_classes must be given and positive, got 0"),
    DetectionOutputBad("Threshold", "num_classes: 3 nms_param { nms_threshold: -1 }",
                       "nms_threshold must not be negative, got -1"),
    DetectionOutputBad("Eta", "num_classes: 3 nms_param { eta: 0 }", "eta must be greater than 0"),
    DetectionOutputBad("SoftThreshold", "num_classes: 3 nms_param { soft_nms: true }",
                       "with soft_nms scores decay: give confidence_threshold"),
    DetectionOutputBad("Sigma", "num_classes: 3 nms_param { soft_nms_sigma: 0 }",
                       "soft_nms_sigma must be positive"),
    BadLayerCase("FirstStage", "type: 'DetectionOutput' detection_output_param { num_classes: 3 }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Bottom({1, 2, 16})
        .Bottom({1, 4})
        .Bottom({1, 16})
        .Says("first stage's probabilities .bottom 3. must be of shape .1, priors . 2., with 4 "
              "priors"),
    BadLayerCase("FirstLocations",
                 "type: 'DetectionOutput' detection_output_param { num_classes: 3 }")
        .Bottom({1, 16})
        .Bottom({1, 12})
        .Bottom({1, 2, 16})
        .Bottom({1, 8})
        .Bottom({1, 12})
        .Says("first stage's locations .bottom 4."),
    DetectionOutputBad("Landmarks", "num_classes: 3 has_lm: true",
                       "has_lm .landmarks. is not available"),
    DetectionOutputBad(
        "Locations", "num_classes: 3",
        "4 priors and 1 classes of locations need 16 numbers an item, the locations have 12",
        {1, 12}),
    DetectionOutputBad("Scores", "num_classes: 3",
                       "4 priors and num_classes 3 need 12 scores an item, not 8", {1, 16}, {1, 8}),
    DetectionOutputBad("Items", "num_classes: 3", "differ in number", {2, 16}),
    DetectionOutputBad("PriorShape", "num_classes: 3", "priors of shape .1, 2, priors . 4.",
                       {1, 16}, {1, 12}, {1, 16}),
    DetectionOutputBad(
        "Format",
        "num_classes: 3 save_output_param { output_directory: '/x' output_format: 'PDF' }",
        "output_format must be VOC, COCO or ILSVRC, got 'PDF'"),
    DetectionOutputBad(
        "Files", "num_classes: 3 save_output_param { output_directory: '/x' output_format: 'VOC' }",
        "needs label_map_file and name_size_file"),
};
INSTANTIATE_TEST_SUITE_P(DetectionOutput, BadLayerCases,
                         ::testing::ValuesIn(kDetectionOutputBadCases), CaseName());

/// Locations that leave the priors as they are.
class DetectionOutputValues : public ::testing::Test {
 protected:
  Floats Detect(const std::string& param, const Floats& scores, int items = 1) {
    Example example("type: 'DetectionOutput' detection_output_param { num_classes: 3 " + param +
                    " }");
    const std::vector<double> priors = DetectionPriors();
    example.Bottom({items, 16}, Floats(16 * items, 0)).Bottom({items, 12}, scores);
    example.Bottom({1, 2, 16}, Floats(priors.begin(), priors.end())).SetUp();
    const Floats rows = example.Forward();
    EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 1, int(rows.size() / 7), 7}));
    return rows;
  }
  // Rows are priors, columns are classes, the first of them the background.
  const Floats scores_ = {.1f, .8f, .1f, .1f, .7f, .2f, .6f, .1f, .3f, .05f, .05f, .9f};
};

TEST_F(DetectionOutputValues, ThinsOutEachClass) {
  EXPECT_EQ(Detect("confidence_threshold: 0.15 nms_param { nms_threshold: 0.5 }", scores_),
            (Floats{0, 1, .8f, .1f, .1f, .3f, .3f,  //
                    0, 2, .9f, .6f, .1f, .9f, .4f,  //
                    0, 2, .3f, .5f, .5f, .7f, .7f,  //
                    0, 2, .2f, .1f, .1f, .3f, .34f}));
}

TEST_F(DetectionOutputValues, KeepsTheBestOfAllClasses) {
  const std::string param = "confidence_threshold: 0.15 nms_param { nms_threshold: 0.5 } ";
  EXPECT_EQ(Detect(param + "keep_top_k: 2", scores_),
            (Floats{0, 1, .8f, .1f, .1f, .3f, .3f, 0, 2, .9f, .6f, .1f, .9f, .4f}));
  EXPECT_EQ(Detect("confidence_threshold: 0.15 nms_param { top_k: 1 }", scores_),
            (Floats{0, 1, .8f, .1f, .1f, .3f, .3f, 0, 2, .9f, .6f, .1f, .9f, .4f}));
}

// The first two priors overlap by 5/6; class 2 has them at scores 0.1 and 0.2, class 1 at 0.8 and
// 0.7.
TEST_F(DetectionOutputValues, ScoresOfOverlappedBoxesDecay) {
  const float overlap = 5 / 6.f;
  const auto expect = [&](const std::string& param, float decay) {
    const Floats rows =
        Detect("confidence_threshold: 0.11 nms_param { soft_nms: true " + param + " }", scores_);
    ASSERT_EQ(rows.size(), 5 * 7u);
    EXPECT_EQ(rows[2], .8f);
    EXPECT_NEAR(rows[7 + 2], .7f * decay, 1e-5);
    EXPECT_EQ(rows[7 + 6], .34f) << "the box stays as it is";
    EXPECT_EQ(rows[3 * 7 + 2], .3f) << "overlaps none";
  };
  expect("", std::exp(-overlap * overlap / 0.5f));
  expect("soft_nms_sigma: 2", std::exp(-overlap * overlap / 2));
  expect("soft_nms_method: LINEAR", 1 - overlap);
}

TEST_F(DetectionOutputValues, DecayedScoresEndAtTheConfidenceThreshold) {
  EXPECT_EQ(Detect("confidence_threshold: 0.25 soft_nms: true", scores_).size(), 3 * 7u)
      << "0.8, 0.9 and 0.3, but not 0.7 * exp(-25 / 18)";
}

TEST_F(DetectionOutputValues, AFirstStageMovesPriorsAndKnowsBackground) {
  Example example(
      "type: 'DetectionOutput' detection_output_param { num_classes: 3 confidence_threshold: 0.15 "
      "objectness_score: 0.25 }");
  const std::vector<double> priors = DetectionPriors();
  Floats locations(16, 0), moves(16, 0);
  locations[4 * 3] = 2;  // by twice the variance
  moves[4 * 3] = 4;
  moves[4 * 3 + 1] = -1;
  example.Bottom({1, 16}, locations).Bottom({1, 12}, scores_);
  example.Bottom({1, 2, 16}, Floats(priors.begin(), priors.end()));
  example.Bottom({1, 8}, {.8f, .2f, .76f, .24f, .8f, .2f, .75f, .25f}).Bottom({1, 16}, moves);
  const Floats rows = example.SetUp().Forward();
  ASSERT_EQ(rows.size(), 7u);
  const Floats wanted = {0, 2, .9f, .6f + 6 * .125f, .1f - .125f, .9f, .4f};
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(rows[i], wanted[i], 1e-6) << i;
}

TEST_F(DetectionOutputValues, SaysSoWhereThereIsNothing) {
  EXPECT_EQ(Detect("confidence_threshold: 2", Floats(24, 1), 2),
            (Floats{0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1}));
}

/// A folder with a label map and the sizes of two images.
class DetectionFiles : public DetectionOutputValues {
 protected:
  void SetUp() override {
    folder_ = NewFolder() + "/";
    Write("labels",
          "item { name: 'none' label: 0 } item { name: 'cat' label: 1 } "
          "item { name: '17' label: 2 }");
    Write("sizes", "first 100 200\n42 10 10\n");
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + name) << text;
  }
  void Detect(const std::string& format, const std::string& more = "") {
    Floats scores = scores_;
    scores.insert(scores.end(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, .75f, 0});
    DetectionOutputValues::Detect(
        "confidence_threshold: 0.5 save_output_param { "
        "output_directory: '" +
            folder_ + "out' output_name_prefix: 'det_' output_format: '" + format +
            "' label_map_file: '" + folder_ + "labels' name_size_file: '" + folder_ + "sizes' " +
            more + " }",
        scores, 2);
  }
  std::string folder_;
};

TEST_F(DetectionFiles, AreVocs) {
  std::filesystem::create_directory(folder_ + "out");
  Write("out/mine", "stays");
  Detect("VOC");
  EXPECT_EQ(ReadFile(folder_ + "out/det_cat.txt"), "first 0.8 20 10 60 30\n42 0.75 6 1 9 4\n");
  EXPECT_EQ(ReadFile(folder_ + "out/det_17.txt"), "first 0.9 120 10 180 40\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "out/det_none.txt"));
  EXPECT_EQ(ReadFile(folder_ + "out/mine"), "stays");
}

TEST_F(DetectionFiles, AreIlsvrcs) {
  Detect("ILSVRC");
  EXPECT_EQ(ReadFile(folder_ + "out/det_.txt"),
            "first 1 0.8 20 10 60 30\nfirst 2 0.9 120 10 180 40\n42 1 0.75 6 1 9 4\n");
}

TEST_F(DetectionFiles, AreCocos) {
  Detect("COCO");
  EXPECT_EQ(ReadFile(folder_ + "out/det_.json"),
            "[\n"
            "  {\"image_id\": \"first\", \"category_id\": \"cat\", \"bbox\": [20, 10, 40, 20], "
            "\"score\": 0.800000012},\n"
            "  {\"image_id\": \"first\", \"category_id\": 17, \"bbox\": [120, 10, 60, 30], "
            "\"score\": 0.899999976},\n"
            "  {\"image_id\": 42, \"category_id\": \"cat\", \"bbox\": [6, 1, 3, 3], "
            "\"score\": 0.75}\n]\n");
}

TEST_F(DetectionFiles, AreRefusedInPlainWords) {
  const auto message = [&](const std::string& more) -> std::string {
    try {
      Detect("VOC", more);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("num_test_image: 3").find("at most the 2 images"), std::string::npos);
  Write("sizes", "first 100 200\nsecond 10\n");
  EXPECT_NE(message("").find("line 2: 'second 10' is not a name, a height and a width"),
            std::string::npos);
}

}  // namespace
}  // namespace caffe
