#include "caffe/util/im_transforms.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/test_files.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/sampler.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {
namespace {

template <typename Message>
Message Parse(const string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

NormalizedBBox MakeBBox(float xmin, float ymin, float xmax, float ymax) {
  NormalizedBBox bbox;
  SetBox({xmin, ymin, xmax, ymax}, &bbox);
  return bbox;
}

TEST(Sampler, DrawsPatchesInsideOfTheImage) {
  const Sampler sampler =
      Parse<Sampler>("min_scale: 0.3 max_scale: 0.9 min_aspect_ratio: 0.5 max_aspect_ratio: 2");
  double largest = 0, smallest = 1;
  for (int i = 0; i < 1000; ++i) {
    NormalizedBBox patch;
    SampleBBox(sampler, &patch);
    EXPECT_FALSE(CrossesBoundary(Scaled(BoxOf(patch), .999999f, .999999f)));
    const double ratio = (patch.xmax() - patch.xmin()) / (patch.ymax() - patch.ymin());
    EXPECT_GE(ratio, 0.499);
    EXPECT_LE(ratio, 2.001);
    largest = std::max<double>(largest, patch.size());
    smallest = std::min<double>(smallest, patch.size());
  }
  EXPECT_NEAR(largest, 0.81, 0.03);
  EXPECT_NEAR(smallest, 0.09, 0.01);
}

TEST(Sampler, TakesTheWholeImageIfNothingIsAsked) {
  NormalizedBBox patch;
  SampleBBox(Sampler(), &patch);
  EXPECT_EQ(patch.size(), 1);
}

TEST(Sampler, ConstraintsHoldForOneOfTheBoxes) {
  const std::vector<NormalizedBBox> boxes = {MakeBBox(0, 0, .5, .5), MakeBBox(.5, .5, 1, 1)};
  const auto satisfied = [&](const string& constraint, const NormalizedBBox& patch) {
    return SatisfySampleConstraint(patch, boxes, Parse<SampleConstraint>(constraint));
  };
  const NormalizedBBox half = MakeBBox(0, 0, .5, 1);
  EXPECT_TRUE(satisfied("", half));
  EXPECT_TRUE(satisfied("min_jaccard_overlap: 0.5", half));
  EXPECT_FALSE(satisfied("min_jaccard_overlap: 0.51", half));
  EXPECT_TRUE(satisfied("max_jaccard_overlap: 0", half)) << "the other box";
  EXPECT_TRUE(satisfied("min_sample_coverage: 0.5 max_sample_coverage: 0.5", half));
  EXPECT_TRUE(satisfied("min_object_coverage: 1", half));
  EXPECT_FALSE(satisfied("min_object_coverage: 1 min_sample_coverage: 0.6", half));
  EXPECT_FALSE(
      SatisfySampleConstraint(half, {}, Parse<SampleConstraint>("max_jaccard_overlap: 1")));
}

TEST(Sampler, StopsAtTheNumberThatIsWanted) {
  const AnnotatedDatum annotated = Parse<AnnotatedDatum>(
      "annotation_group { annotation { bbox { xmin: 0 ymin: 0 xmax: 1 ymax: 1 } } }");
  const auto found = [&](const string& sampler) {
    std::vector<NormalizedBBox> patches;
    GenerateBatchSamples(annotated, {Parse<BatchSampler>(sampler)}, &patches);
    return patches.size();
  };
  EXPECT_EQ(found("max_sample: 3"), 3u);
  EXPECT_EQ(found(""), 100u);
  EXPECT_EQ(found("max_sample: 3 max_trials: 2"), 2u);
  EXPECT_EQ(found("sample_constraint { max_jaccard_overlap: 0.5 }"), 0u);
  EXPECT_EQ(found("use_original_image: false"), 0u);
}

TEST(Sampler, RefusesEmptyRanges) {
  const auto error = [](const string& sampler) {
    return ErrorOf([&] { CheckBatchSampler(Parse<BatchSampler>(sampler)); });
  };
  EXPECT_EQ(error(""), "");
  ExpectContains(error("sampler { max_scale: 1.5 }"), "max_scale 1.5");
  ExpectContains(error("sampler { min_scale: 0 }"), "min_scale 0");
  ExpectContains(error("sampler { min_aspect_ratio: 2 }"), "min_aspect_ratio 2");
}

#ifdef USE_OPENCV

/// One pixel of blue, green and red.
cv::Mat Pixel(int blue, int green, int red) {
  return cv::Mat(1, 1, CV_8UC3, cv::Scalar(blue, green, red));
}
cv::Vec3b ValueOf(const cv::Mat& image) { return image.at<cv::Vec3b>(0, 0); }

TEST(Distortion, ChangesColours) {
  Distortion distortion;
  distortion.changes = {{Distortion::BRIGHTNESS, 20.f}};
  EXPECT_EQ(ValueOf(Distorted(Pixel(10, 100, 250), distortion)), cv::Vec3b(30, 120, 255));
  distortion.changes = {{Distortion::CONTRAST, 0.5f}};
  EXPECT_EQ(ValueOf(Distorted(Pixel(10, 100, 250), distortion)), cv::Vec3b(5, 50, 125));
  distortion.changes = {{Distortion::SATURATION, 0.f}};
  EXPECT_EQ(ValueOf(Distorted(Pixel(10, 100, 250), distortion)), cv::Vec3b(250, 250, 250));
  distortion.changes = {{Distortion::HUE, 60.f}};  // of 180: red becomes green
  EXPECT_EQ(ValueOf(Distorted(Pixel(0, 0, 200), distortion)), cv::Vec3b(0, 200, 0));
  distortion.changes = {};
  distortion.channels = {{2, 0, 1}};
  EXPECT_EQ(ValueOf(Distorted(Pixel(1, 2, 3), distortion)), cv::Vec3b(3, 1, 2));
}

TEST(Distortion, LeavesGreyImagesGrey) {
  Distortion distortion;
  distortion.changes = {{Distortion::SATURATION, 0.f}, {Distortion::HUE, 60.f}};
  distortion.channels = {{2, 0, 1}};
  const cv::Mat image = Distorted(cv::Mat(1, 1, CV_8UC1, cv::Scalar(7)), distortion);
  EXPECT_EQ(image.at<uint8_t>(0, 0), 7);
}

TEST(Distortion, IsDrawn) {
  const DistortionParameter all = Parse<DistortionParameter>(
      "brightness_prob: 1 brightness_delta: 32 contrast_prob: 1 contrast_lower: 0.5 "
      "contrast_upper: 1.5 hue_prob: 1 hue_delta: 18 saturation_prob: 1 saturation_lower: 0.5 "
      "saturation_upper: 1.5 random_order_prob: 1");
  int early = 0, moved = 0;
  for (int i = 0; i < 200; ++i) {
    const Distortion distortion = DrawDistortion(all);
    ASSERT_EQ(distortion.changes.size(), 4u);
    EXPECT_EQ(distortion.changes[0].first, Distortion::BRIGHTNESS);
    EXPECT_LE(std::abs(distortion.changes[0].second), 32);
    early += distortion.changes[1].first == Distortion::CONTRAST;
    moved += distortion.channels != Distortion().channels;
  }
  EXPECT_NEAR(early, 100, 40);
  EXPECT_NEAR(moved, 167, 30);
  EXPECT_TRUE(DrawDistortion(DistortionParameter()).changes.empty());
}

TEST(Distortion, IsSelectedByDeepDetectsSwitches) {
  const auto draw = [](const string& text) {
    return DrawDistortion(Parse<DistortionParameter>(text));
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(draw("prob: 1 all_effects: true").changes.size(), 4u);
    const Distortion hue = draw("prob: 1 hue: true");
    ASSERT_EQ(hue.changes.size(), 1u);
    EXPECT_EQ(hue.changes[0].first, Distortion::HUE);
    EXPECT_LE(std::abs(hue.changes[0].second), 18);
    const Distortion contrast = draw("prob: 1 contrast: true contrast_lower: 1.4");
    ASSERT_EQ(contrast.changes.size(), 1u);
    EXPECT_GE(contrast.changes[0].second, 1.4);
    EXPECT_LE(contrast.changes[0].second, 1.5);
    // What has a probability of its own keeps it.
    EXPECT_EQ(draw("prob: 1 all_effects: true hue_prob: 0 saturation_prob: 0").changes.size(), 2u);
    EXPECT_EQ(draw("prob: 0 all_effects: true").changes.size(), 0u);
  }
}

cv::Mat Changed(const cv::Mat& image, const string& noise) {
  const NoiseParameter param = Parse<NoiseParameter>(noise);
  CheckNoise(param);
  return Noisy(image, param, DrawNoise(param));
}

TEST(NoiseEffects, ChangeImages) {
  EXPECT_EQ(ValueOf(Changed(Pixel(0, 255, 0), "decolorize: true")), cv::Vec3b(150, 150, 150));
  EXPECT_EQ(ValueOf(Changed(Pixel(1, 2, 3), "inverse: true")), cv::Vec3b(254, 253, 252));
  EXPECT_EQ(ValueOf(Changed(Pixel(1, 64, 255), "posterize: true")), cv::Vec3b(32, 96, 224));
  EXPECT_EQ(ValueOf(Changed(Pixel(0, 0, 200), "convert_to_hsv: true")), cv::Vec3b(0, 255, 200));
  // In the fork's order, not the fields'.
  EXPECT_EQ(ValueOf(Changed(Pixel(1, 64, 255), "inverse: true posterize: true")),
            cv::Vec3b(255 - 32, 255 - 96, 255 - 224));

  cv::Mat dot(9, 9, CV_8U, cv::Scalar(100));
  dot.at<uint8_t>(4, 4) = 10;
  const cv::Mat eroded = Changed(dot, "erode: true");
  EXPECT_EQ(eroded.at<uint8_t>(3, 4), 10);
  EXPECT_EQ(eroded.at<uint8_t>(2, 4), 100);
  const cv::Mat blurred = Changed(dot, "gauss_blur: true");
  EXPECT_EQ(blurred.at<uint8_t>(4, 0), 100);
  EXPECT_GT(blurred.at<uint8_t>(4, 4), 80);
  EXPECT_LT(blurred.at<uint8_t>(4, 4), 100);
  EXPECT_EQ(Changed(dot, "hist_eq: true").at<uint8_t>(4, 4), 0);
  EXPECT_EQ(Changed(dot, "hist_eq: true").at<uint8_t>(0, 0), 255);
  EXPECT_EQ(Changed(dot, "clahe: true").size(), dot.size());
  EXPECT_EQ(Changed(dot, "jpeg: 5").channels(), 1);
  EXPECT_GT(cv::norm(Changed(dot, "jpeg: 5"), dot), 0);
  EXPECT_EQ(cv::norm(Changed(dot, "decolorize: true convert_to_hsv: true"), dot), 0);

  const cv::Mat salted =
      Changed(cv::Mat(20, 30, CV_8UC3, cv::Scalar(1, 2, 3)),
              "saltpepper: true saltpepper_param { fraction: 0.1 value: 7 value: 8 value: 9 }");
  int changed = 0;
  for (int i = 0; i < 600; ++i) {
    const cv::Vec3b pixel = salted.at<cv::Vec3b>(i / 30, i % 30);
    changed += pixel == cv::Vec3b(7, 8, 9);
    EXPECT_TRUE(pixel == cv::Vec3b(7, 8, 9) || pixel == cv::Vec3b(1, 2, 3));
  }
  EXPECT_GT(changed, 40);
  EXPECT_LE(changed, 60);
}

TEST(NoiseEffects, AreDrawnOneByOne) {
  const NoiseParameter all = Parse<NoiseParameter>(
      "prob: 0.5 all_effects: true jpeg: 30 saltpepper_param { fraction: 0.1 }");
  std::map<int, int> drawn;
  for (int i = 0; i < 400; ++i) {
    const Noise noise = DrawNoise(all);
    EXPECT_TRUE(std::is_sorted(noise.changes.begin(), noise.changes.end()));
    for (const Noise::Kind kind : noise.changes) ++drawn[kind];
    Noisy(Pixel(1, 2, 3), all, noise);
  }
  EXPECT_EQ(drawn.size(), 10u);
  for (const auto& [kind, times] : drawn) EXPECT_NEAR(times, 200, 60) << kind;
  EXPECT_EQ(DrawNoise(Parse<NoiseParameter>("prob: 1 all_effects: true")).changes.size(), 8u);
  EXPECT_EQ(DrawNoise(Parse<NoiseParameter>("erode: true clahe: true")).changes.size(), 2u);
  EXPECT_TRUE(DrawNoise(NoiseParameter()).changes.empty());
}

TEST(NoiseEffects, RefuseBadInput) {
  const auto noise = [](const string& text) {
    return ErrorOf([&] { CheckNoise(Parse<NoiseParameter>(text)); });
  };
  EXPECT_EQ(noise(""), "");
  ExpectContains(noise("prob: 2 erode: true"), "prob must lie between 0 and 1, got 2");
  ExpectContains(noise("prob: 0.5"), "no effect");
  ExpectContains(noise("all_effects: true"), "all_effects needs prob");
  ExpectContains(noise("convert_to_lab: true"), "convert_to_lab is not available");
  ExpectContains(noise("jpeg: 101"), "jpeg");
  ExpectContains(noise("saltpepper: true"), "fraction");
  ExpectContains(noise("saltpepper_param { fraction: 2 }"), "fraction");
  ExpectContains(noise("saltpepper_param { value: 256 }"), "value");
  ExpectContains(
      ErrorOf([] { Changed(cv::Mat(1, 1, CV_8UC4, cv::Scalar::all(0)), "erode: true"); }),
      "1 or 3 channels");
  const auto distortion = [](const string& text) {
    return ErrorOf([&] { CheckDistortion(Parse<DistortionParameter>(text)); });
  };
  EXPECT_EQ(distortion("prob: 0.5 all_effects: true"), "");
  ExpectContains(distortion("prob: 0.5"), "no effect");
  ExpectContains(distortion("hue: true"), "prob says how often");
  ExpectContains(distortion("prob: -1 hue: true"), "between 0 and 1");
  ExpectContains(distortion("prob: 1 contrast: true contrast_lower: 2"), "contrast_lower 2");
}

TEST(Expansion, PutsTheImageIntoALargerOne) {
  const Expansion expansion = {3, 2, 1, 0};
  const cv::Mat image = Expanded(Pixel(1, 2, 3), expansion, {7, 8, 9});
  ASSERT_EQ(image.size(), cv::Size(2, 3));
  EXPECT_EQ(image.at<cv::Vec3b>(1, 0), cv::Vec3b(1, 2, 3));
  EXPECT_EQ(image.at<cv::Vec3b>(0, 0), cv::Vec3b(7, 8, 9));
  const NormalizedBBox box = BoxOfExpansion(expansion, 1, 1);
  EXPECT_EQ(box.xmin(), 0);
  EXPECT_EQ(box.xmax(), 2);
  EXPECT_EQ(box.ymin(), -1);
  EXPECT_EQ(box.ymax(), 2);
}

TEST(Expansion, IsDrawn) {
  for (int i = 0; i < 100; ++i) {
    const Expansion e =
        DrawExpansion(Parse<ExpansionParameter>("prob: 1 max_expand_ratio: 4"), 100, 50);
    EXPECT_GE(e.h_offset, 0);
    EXPECT_LE(e.h_offset + 100, e.height);
    EXPECT_LE(e.w_offset + 50, e.width);
    EXPECT_LE(e.height, 400);
    EXPECT_NEAR(e.height, 2 * e.width, 2);
  }
  const Expansion none =
      DrawExpansion(Parse<ExpansionParameter>("prob: 0 max_expand_ratio: 4"), 100, 50);
  EXPECT_EQ(none.height, 100);
}

TEST(Resizing, WarpsOrKeepsTheAspect) {
  const cv::Mat image(100, 200, CV_8UC3, cv::Scalar(1, 2, 3));
  const auto resized = [&](const string& mode) {
    return Resized(image, Parse<ResizeParameter>("height: 60 width: 80 " + mode),
                   ResizeParameter::LINEAR);
  };
  EXPECT_EQ(resized("resize_mode: WARP").size(), cv::Size(80, 60));
  EXPECT_EQ(resized("resize_mode: FIT_SMALL_SIZE").size(), cv::Size(120, 60));
  const cv::Mat framed =
      resized("resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 7 pad_value: 8 pad_value: 9");
  ASSERT_EQ(framed.size(), cv::Size(80, 60));  // 40 high, 10 above and below
  EXPECT_EQ(framed.at<cv::Vec3b>(9, 0), cv::Vec3b(7, 8, 9));
  EXPECT_EQ(framed.at<cv::Vec3b>(10, 0), cv::Vec3b(1, 2, 3));
  EXPECT_EQ(framed.at<cv::Vec3b>(49, 0), cv::Vec3b(1, 2, 3));
  EXPECT_EQ(framed.at<cv::Vec3b>(50, 0), cv::Vec3b(7, 8, 9));
}

TEST(Resizing, DrawsOneOfTheModes) {
  const ResizeParameter param =
      Parse<ResizeParameter>("interp_mode: AREA interp_mode: CUBIC interp_mode: LANCZOS4");
  std::map<int, int> drawn;
  for (int i = 0; i < 300; ++i) ++drawn[DrawInterpolation(param)];
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_EQ(DrawInterpolation(ResizeParameter()), ResizeParameter::LINEAR);
}

TEST(ImTransforms, RefuseEmptyRanges) {
  ExpectContains(ErrorOf([] { CheckDistortion(Parse<DistortionParameter>("contrast_lower: 2")); }),
                 "contrast_lower 2");
  ExpectContains(ErrorOf([] { CheckDistortion(Parse<DistortionParameter>("hue_delta: 200")); }),
                 "hue_delta");
  ExpectContains(
      ErrorOf([] { CheckExpansion(Parse<ExpansionParameter>("max_expand_ratio: 0.5")); }),
      "max_expand_ratio");
  ExpectContains(ErrorOf([] { CheckResize(Parse<ResizeParameter>("height: 3")); }),
                 "give height and width");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
