#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kYoloDetectionOutputCases = {
    LayerCase("Version2",
              "type: 'YoloDetectionOutput' yolo_detection_output_param { num_classes: 3 num_box: 2 "
              "confidence_threshold: 0.2 biases: 1 biases: 2 biases: 2.5 biases: 1.5 }")
        .Bottom({2, 16, 3, 3}, Fill::DISTINCT)
        .WithoutGradients(),
    LayerCase("Version2TwoMaps",
              "type: 'YoloDetectionOutput' yolo_detection_output_param { num_classes: 1 num_box: 1 "
              "confidence_threshold: 0.3 biases: 1 biases: 2 }")
        .Bottom({1, 6, 3, 3})
        .Bottom({1, 6, 5, 5})
        .WithoutGradients(),
    LayerCase("Version3",
              "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: 3 "
              "num_box: 2 confidence_threshold: 0.3 biases: 10 biases: 12 biases: 20 biases: 9 "
              "biases: 5 biases: 5 biases: 30 biases: 20 mask: 2 mask: 3 mask: 0 mask: 1 "
              "anchors_scale: 16 anchors_scale: 8 }")
        .Bottom({2, 16, 2, 3})
        .Bottom({2, 16, 4, 6})
        .WithoutGradients(),
    LayerCase(
        "Nothing",
        "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: 1 num_boxes: 1 "
        "confidence_threshold: 1 biases: 10 biases: 12 masks: 0 anchors_scale: 16 }")
        .Bottom({3, 6, 2, 2})
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(Yolo, LayerCases, ::testing::ValuesIn(kYoloDetectionOutputCases),
                         CaseName());

BadLayerCase Bad2(const char* name, const std::string& param, const std::string& wanted) {
  return BadLayerCase(name,
                      "type: 'YoloDetectionOutput' yolo_detection_output_param { " + param + " }")
      .Bottom({1, 6, 2, 2})
      .Says(wanted);
}
BadLayerCase Bad3(const char* name, const std::string& param, const std::string& wanted) {
  return BadLayerCase(name,
                      "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: "
                      "1 num_box: 1 biases: 1 biases: 1 " +
                          param + " }")
      .Bottom({1, 6, 2, 2})
      .Says(wanted);
}
const std::vector<BadLayerCase> kYoloDetectionOutputBadCases = {
    Bad2("Classes", "num_classes: 0 biases: 1 biases: 1", "num_classes must be positive"),
    Bad2("Boxes", "num_box: 0 biases: 1 biases: 1", "num_box must be positive"),
    Bad2("Threshold", "nms_threshold: -1 biases: 1 biases: 1", "nms_threshold must not be"),
    Bad2("OddBiases", "biases: 1", "biases are widths and heights of anchors, got 1 numbers"),
    Bad2("Biases", "num_box: 2 biases: 1 biases: 1", "num_box 2 needs 4 biases, got 2"),
    Bad2("Coords", "coords: 5 num_box: 1 biases: 1 biases: 1", "coords must be 4"),
    Bad2("Channels", "num_box: 1 num_classes: 2 biases: 1 biases: 1",
         "need maps of shape .N, 7, H, W., not 1 6 2 2"),
    Bad3("Mask", "mask: 1 anchors_scale: 1", "mask names anchor 1, but there are biases for 1"),
    Bad3("Masks", "anchors_scale: 1", "1 bottoms of num_box 1 need mask 1 times, not 0"),
    Bad3("Groups", "mask: 0 anchors_scale: 1 mask_group_num: 2",
         "mask_group_num is 2, but there are 1 bottoms"),
    Bad3("Scales", "mask: 0", "give anchors_scale for each of the 1 bottoms"),
    Bad3("Scale", "mask: 0 anchors_scale: 0", "anchors_scale must be positive"),
};
INSTANTIATE_TEST_SUITE_P(Yolo, BadLayerCases, ::testing::ValuesIn(kYoloDetectionOutputBadCases),
                         CaseName());

void ExpectNearDetections(const Floats& actual, const Floats& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
}

constexpr float kNever = -50;

// Two cells, the left one of which has a box in its middle.
TEST(YoloDetectionOutputValues, TakesTheBestClass) {
  Example example(
      "type: 'YoloDetectionOutput' yolo_detection_output_param { num_classes: 2 num_box: 1 "
      "biases: 1 biases: 0.25 }");
  const float two = std::log(2.f), three = std::log(3.f);
  example.Bottom({1, 7, 1, 2}, {0, 0, 0, 0, 0, 0, two, 0, three, kNever, 0, 0, three, 0}).SetUp();
  ExpectNearDetections(example.Forward(), {0, 2, .75f * .75f, 0, .25f, .5f, .75f});
}

// Numbers that come out as they are: sigmoid(0) = 1/2, exp(0) = 1.
TEST(Yolov3DetectionOutputValues, ClassesGoEachTheirWay) {
  Example example(
      "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: 2 num_box: 1 "
      "confidence_threshold: 0.3 nms_threshold: 0.5 biases: 9 biases: 9 biases: 4 biases: 8 "
      "mask: 1 anchors_scale: 8 }");
  const float three = std::log(3.f);
  Floats map(14, 0);
  map[8] = map[9] = three;  // objectness 0.75
  map[10] = three;          // the left cell's first class
  map[13] = 2 * three;      // the right cell's second class, 0.9
  example.Bottom({1, 7, 1, 2}, map).SetUp();
  ExpectNearDetections(example.Forward(), {0, 2, .675f, .625f, 0, .875f, 1,  //
                                           0, 1, .5625f, .125f, 0, .375f, 1});
}

}  // namespace
}  // namespace caffe
