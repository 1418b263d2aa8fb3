#include <gtest/gtest.h>

#ifdef USE_OPENCV

#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/test/support/test_databases.hpp"
#include "caffe/util/image.hpp"

namespace caffe {
namespace {

void AddBox(int label, float xmin, float ymin, float xmax, float ymax, AnnotatedDatum* annotated) {
  annotated->set_type(AnnotatedDatum::BBOX);
  AnnotationGroup* group = annotated->add_annotation_group();
  group->set_group_label(label);
  Annotation* annotation = group->add_annotation();
  annotation->set_instance_id(3);
  NormalizedBBox* bbox = annotation->mutable_bbox();
  bbox->set_xmin(xmin);
  bbox->set_ymin(ymin);
  bbox->set_xmax(xmax);
  bbox->set_ymax(ymax);
  bbox->set_difficult(label == 2);
}

/// A black image with a white, annotated rectangle in it.
AnnotatedDatum Rectangle(int height, int width, const cv::Rect& white, bool encoded = false) {
  cv::Mat image(height, width, CV_8UC3, cv::Scalar::all(0));
  image(white).setTo(cv::Scalar::all(255));
  AnnotatedDatum annotated;
  CVMatToDatum(image, annotated.mutable_datum());
  if (encoded) {
    std::vector<uint8_t> bytes;
    cv::imencode(".png", image, bytes);
    annotated.mutable_datum()->set_data(string(bytes.begin(), bytes.end()));
    annotated.mutable_datum()->set_encoded(true);
  }
  AddBox(1, float(white.x) / width, float(white.y) / height, float(white.x + white.width) / width,
         float(white.y + white.height) / height, &annotated);
  return annotated;
}

LayerParameter AnnotatedDataParameter(const string& source, const string& data,
                                      const string& transform = "", const string& annotated = "",
                                      Phase phase = TRAIN) {
  return ParseSource(Join("name: 'data' type: 'AnnotatedData' data_param { source: '", source,
                          "' backend: ", kTestBackend, " ", data, " } transform_param { ",
                          transform, " } annotated_data_param { ", annotated, " }"),
                     phase);
}

TEST(AnnotatedData, GivesImagesAndBoxes) {
  AnnotatedDatum two = Rectangle(4, 8, {2, 1, 4, 2}), none = Rectangle(4, 8, {0, 0, 1, 1});
  AddBox(2, 0, 0.25, 0.5, 1, &two);
  none.clear_annotation_group();
  const string path = NewDatabase<AnnotatedDatum>({two, none, none});
  Source<float> source(AnnotatedDataParameter(path, "batch_size: 2", "scale: 0.5"));
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 3, 4, 8}));
  EXPECT_EQ(source.Values(1, 1), (vector<float>{0, 1, 3, .25, .25, .75, .75, 0,  //
                                                0, 2, 3, 0, .25, .5, 1, 1}));
  EXPECT_EQ(source.label().shape(), (vector<int>{1, 1, 2, 8}));
  EXPECT_EQ(source.data().data_at(0, 2, 1, 2), 127.5);
  EXPECT_EQ(source.data().data_at(0, 2, 0, 2), 0);
  // Records 2 and 0: the boxes are of the second item.
  EXPECT_EQ(source.Values(1, 1)[0], 1);
  Source<float> empty(AnnotatedDataParameter(NewDatabase<AnnotatedDatum>({none}), "batch_size: 1"));
  EXPECT_EQ(empty.Values(1, 1), vector<float>(8, -1));
}

TEST(AnnotatedData, GivesPlainLabelsWhereThereAreNoBoxes) {
  AnnotatedDatum plain = Rectangle(2, 2, {0, 0, 1, 1});
  plain.clear_annotation_group();
  plain.clear_type();
  plain.mutable_datum()->set_label(5);
  Source<float> source(
      AnnotatedDataParameter(NewDatabase<AnnotatedDatum>({plain}), "batch_size: 2"));
  EXPECT_EQ(source.Values(1, 1), (vector<float>{5, 5}));
  EXPECT_EQ(source.label().shape(), vector<int>{2});
  Source<float> unlabelled(
      AnnotatedDataParameter(NewDatabase<AnnotatedDatum>({plain}), "batch_size: 2"), 1);
  unlabelled.Forward();
}

/// A way of changing images, after which the rectangle must still be where its box is.
struct Change {
  const char* name;
  string transform, annotated;
  bool encoded = false;
  double least = 0.5;

  explicit Change(const char* its_name) : name(its_name) {}
  Change& Transform(string fields) {
    transform = std::move(fields);
    return *this;
  }
  Change& Annotated(string fields) {
    annotated = std::move(fields);
    return *this;
  }
  Change& Encoded() {
    encoded = true;
    return *this;
  }
  /// The part of the images in which the rectangle stays.
  Change& Keeps(double part) {
    least = part;
    return *this;
  }
};
std::ostream& operator<<(std::ostream& stream, const Change& change) {
  return stream << change.name;
}

class AnnotatedDataChanges : public ::testing::TestWithParam<Change> {};

// Some pixels at the border are mixed when an image is resized.
TEST_P(AnnotatedDataChanges, MoveBoxesWithTheImage) {
  const Change& change = GetParam();
  const string path =
      NewDatabase<AnnotatedDatum>({Rectangle(120, 160, {40, 50, 60, 30}, change.encoded),
                                   Rectangle(120, 160, {96, 20, 40, 80}, change.encoded)});
  Source<float> source(
      AnnotatedDataParameter(path, "batch_size: 2", change.transform, change.annotated));
  int boxes = 0;
  for (int batch = 0; batch < 30; ++batch) {
    source.Forward();
    const Blob<float>&data = source.data(), &label = source.label();
    for (int i = 0; i < label.height(); ++i) {
      const float* row = label.cpu_data() + 8 * i;
      if (row[0] == -1) continue;
      ++boxes;
      double inside = 0, all = 0;
      for (int h = 0; h < data.height(); ++h) {
        for (int w = 0; w < data.width(); ++w) {
          const double white = data.data_at(int(row[0]), 0, h, w) / 255;
          const double x = (w + 0.5) / data.width(), y = (h + 0.5) / data.height();
          all += white;
          if (x > row[3] && x < row[5] && y > row[4] && y < row[6]) inside += white;
        }
      }
      const double area = (row[5] - row[3]) * (row[6] - row[4]) * data.height() * data.width();
      const double border =
          2 * ((row[5] - row[3]) * data.width() + (row[6] - row[4]) * data.height()) + 4;
      EXPECT_NEAR(inside, area, 1.5 * border) << "batch " << batch;
      EXPECT_NEAR(all, area, 1.5 * border) << "batch " << batch;
    }
  }
  EXPECT_GE(boxes, 60 * change.least);
}

const char kSampler[] =
    "batch_sampler { max_sample: 1 max_trials: 1 } batch_sampler { sampler { min_scale: 0.3 "
    "max_scale: 0.9 min_aspect_ratio: 0.5 max_aspect_ratio: 2 } sample_constraint { "
    "min_object_coverage: 0.5 } max_sample: 1 max_trials: 50 }";

INSTANTIATE_TEST_SUITE_P(
    All, AnnotatedDataChanges,
    ::testing::Values(
        Change("None").Encoded().Keeps(1), Change("Mirror").Transform("mirror: true").Keeps(1),
        Change("Warp")
            .Transform("resize_param { height: 60 width: 100 interp_mode: AREA }")
            .Keeps(1),
        Change("Pad")
            .Transform(
                "resize_param { height: 100 width: 100 resize_mode: FIT_LARGE_SIZE_AND_PAD }")
            .Keeps(1),
        Change("Expand")
            .Transform("expand_param { prob: 0.7 max_expand_ratio: 2 } resize_param { height: 120 "
                       "width: 120 interp_mode: LINEAR interp_mode: AREA interp_mode: CUBIC }")
            .Encoded()
            .Keeps(1),
        Change("Sample").Transform("resize_param { height: 90 width: 90 }").Annotated(kSampler),
        Change("Crop").Transform(
            "crop_size: 100 mirror: true emit_constraint { emit_type: CENTER }"),
        Change("SmallSide")
            .Transform("crop_size: 60 resize_param { height: 60 width: 60 resize_mode: "
                       "FIT_SMALL_SIZE height_scale: 60 width_scale: 60 }")),
    [](const auto& info) { return info.param.name; });

// Boxes whose centre is outside of the crop are left out.
TEST(AnnotatedData, EmitsWhatTheConstraintSays) {
  const string path = NewDatabase<AnnotatedDatum>({Rectangle(10, 10, {0, 0, 5, 4})});
  const string crop = "crop_size: 4 emit_constraint { ";
  const auto labels = [&](const string& constraint) {
    Source<float> source(
        AnnotatedDataParameter(path, "batch_size: 1", crop + constraint + " }", "", TEST));
    return source.Values(1, 1);
  };
  EXPECT_EQ(labels("emit_type: CENTER"), vector<float>(8, -1));  // pixels 3 to 6
  EXPECT_EQ(labels("emit_type: MIN_OVERLAP emit_overlap: 0.2"), vector<float>(8, -1));
  const vector<float> kept = labels("emit_type: MIN_OVERLAP emit_overlap: 0.05");
  const float wanted[] = {0, 1, 3, 0, 0, .5, .25, 0};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(kept[i], wanted[i], 1e-6) << i;
}

const char kAll[] =
    "mirror: true mean_value: 104 mean_value: 117 mean_value: 123 resize_param { height: 20 width: "
    "20 interp_mode: LINEAR interp_mode: AREA interp_mode: NEAREST } emit_constraint { emit_type: "
    "CENTER } distort_param { brightness_prob: 0.5 brightness_delta: 32 contrast_prob: 0.5 "
    "contrast_lower: 0.5 contrast_upper: 1.5 hue_prob: 0.5 hue_delta: 18 saturation_prob: 0.5 "
    "saturation_lower: 0.5 saturation_upper: 1.5 random_order_prob: 0.5 } expand_param { prob: 0.5 "
    "max_expand_ratio: 4 }";

TEST(AnnotatedData, DrawsTheSameWithAnyNumberOfThreads) {
  const string path = NewDatabase<AnnotatedDatum>(
      {Rectangle(30, 40, {5, 5, 20, 10}), Rectangle(40, 30, {5, 5, 20, 10}, true)});
  vector<vector<float>> data, labels;
  for (int threads : {1, 4}) {
    for (int top : {0, 1}) {
      Caffe::set_random_seed(TestSeed());
      Source<float> source(
          AnnotatedDataParameter(path, Join("batch_size: 5 threads: ", threads), kAll, kSampler));
      (top ? labels : data).push_back(source.Values(4, top));
    }
  }
  EXPECT_EQ(data[0], data[1]);
  EXPECT_EQ(labels[0], labels[1]);
}

TEST(AnnotatedData, MakesNoise) {
  const string path = NewDatabase<AnnotatedDatum>({Rectangle(4, 4, {1, 1, 2, 2})});
  Source<float> clean(AnnotatedDataParameter(path, "batch_size: 1"));
  Source<float> inverse(AnnotatedDataParameter(path, "batch_size: 1",
                                               "noise_param { inverse: true all_effects: false }"));
  const vector<float> pixels = clean.Values(1, 0), changed = inverse.Values(1, 0);
  ASSERT_EQ(pixels.size(), changed.size());
  for (size_t i = 0; i < pixels.size(); ++i) EXPECT_EQ(changed[i], 255 - pixels[i]);
  // Drawn before the threads share the work, so the same with any number of them.
  const string all =
      "noise_param { prob: 0.5 all_effects: true saltpepper_param { fraction: 0.2 value: 200 } } "
      "distort_param { prob: 0.5 all_effects: true }";
  vector<vector<float>> results;
  for (const int threads : {1, 3}) {
    Caffe::set_random_seed(TestSeed());
    Source<float> source(
        AnnotatedDataParameter(path, Join("batch_size: 6 threads: ", threads), all));
    results.push_back(source.Values(3, 0));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(AnnotatedData, Resumes) {
  const string path = NewDatabase<AnnotatedDatum>(
      {Rectangle(30, 40, {5, 5, 20, 10}), Rectangle(40, 30, {5, 5, 20, 10}, true)});
  ExpectResumes<float>(AnnotatedDataParameter(path, "batch_size: 3 prefetch: 3", kAll, kSampler),
                       1);
}

TEST(AnnotatedData, SettingUpAgainBeginsAgain) {
  const string path = NewDatabase<AnnotatedDatum>(
      {Rectangle(30, 40, {5, 5, 20, 10}), Rectangle(40, 30, {5, 5, 20, 10}, true)});
  ExpectBeginsAgain<float>(
      AnnotatedDataParameter(path, "batch_size: 3 prefetch: 3", kAll, kSampler), 1);
}

TEST(AnnotatedData, SaysWhatIsWrong) {
  const string path = NewDatabase<AnnotatedDatum>({Rectangle(4, 4, {1, 1, 2, 2})});
  const auto error = [&](const string& transform, const string& annotated = "") {
    return SetUpError<float>(AnnotatedDataParameter(path, "batch_size: 1", transform, annotated));
  };
  EXPECT_EQ(error(""), "");
  ExpectContains(SetUpError<float>(AnnotatedDataParameter(path, "batch_size: 0")), "batch_size");
  ExpectContains(error("resize_param { height: 3 }"), "give height and width");
  ExpectContains(error("distort_param { hue_delta: 999 }"), "hue_delta");
  ExpectContains(error("expand_param { max_expand_ratio: 0 }"), "max_expand_ratio");
  ExpectContains(error("expand_param { } mean_file: 'x'"), "x");
  ExpectContains(error("", "batch_sampler { sampler { min_scale: 2 } }"), "min_scale");
  ExpectContains(error("", "has_landmarks: true"), "has_landmarks is not available");
  ExpectContains(error("noise_param { prob: 1 }"), "noise_param");
  ExpectContains(error("distort_param { prob: 1 }"), "distort_param");
  AnnotatedDatum broken = Rectangle(4, 4, {1, 1, 2, 2});
  broken.mutable_datum()->set_width(5);
  ExpectContains(SetUpError<float>(AnnotatedDataParameter(NewDatabase<AnnotatedDatum>({broken}),
                                                          "batch_size: 1")),
                 "record 'key00': the record has 48 bytes for an image of 3 x 4 x 5");
  broken.clear_datum();
  ExpectContains(SetUpError<float>(AnnotatedDataParameter(NewDatabase<AnnotatedDatum>({broken}),
                                                          "batch_size: 1")),
                 "is no AnnotatedDatum message");
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV
