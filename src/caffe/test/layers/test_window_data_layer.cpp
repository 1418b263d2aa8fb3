#include "caffe/layers/window_data_layer.hpp"

#include <gtest/gtest.h>

#ifdef USE_OPENCV
#include <opencv2/imgproc.hpp>
#endif

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

LayerParameter WindowDataParameter(const string& windows, const string& data,
                                   const string& transform = "crop_size: 2") {
  return ParseSource(Join("name: 'data' type: 'WindowData' window_data_param { source: '", windows,
                          "' ", data, " } transform_param { ", transform, " }"));
}

/// The entry of an image of 8 x 8 in which value (h, w) of channel c is 50 c + 10 h + w.
string Image(int number, const vector<string>& windows) {
  string text = Join("# ", number, "\n", NewImage(CountingImage(3, 8, 8)), "\n3\n8\n8\n",
                     windows.size(), "\n");
  for (const string& window : windows) text += window + "\n";
  return text;
}

template <typename Dtype>
class WindowDataLayerTest : public ::testing::Test {
 protected:
  /// The first channel of a batch of one foreground window.
  vector<Dtype> Window(const string& window, const string& data, const string& transform) {
    Source<Dtype> source(WindowDataParameter(NewFile(Image(0, {"1 1 " + window})),
                                             "batch_size: 1 fg_fraction: 1 " + data, transform));
    source.Forward();
    const Dtype* values = source.data().cpu_data();
    return vector<Dtype>(values, values + source.data().count(2));
  }
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(WindowDataLayerTest, RealTypes);

TYPED_TEST(WindowDataLayerTest, WarpsWindows) {
  // A window of crop_size's size stays as it is.
  EXPECT_EQ(this->Window("2 3 3 4", "", "crop_size: 2"), (vector<TypeParam>{32, 33, 42, 43}));
  EXPECT_EQ(this->Window("2 3 3 4", "", "crop_size: 2 scale: 2 mean_value: 30"),
            (vector<TypeParam>{4, 6, 24, 26}));
  EXPECT_EQ(this->Window("2 3 3 4", "", "crop_size: 2 bgr2rgb: true"),
            (vector<TypeParam>{132, 133, 142, 143}));  // the third channel comes first
  // Twice the size: the mean of four pixels, rounded.
  EXPECT_EQ(this->Window("0 0 3 3", "", "crop_size: 2"), (vector<TypeParam>{6, 8, 26, 28}));
}

TYPED_TEST(WindowDataLayerTest, TakesContextAroundWindows) {
  // The window of 2 x 2 is warped to the inner 2 x 2 of 4 x 4: all of 4 x 4 is (1, 2) to (4, 5). By
  // Caffe's formula the region is a pixel longer: from 1 to 5 and 2 to 6.
  const string param = "crop_size: 4";
  const vector<TypeParam> values = this->Window("2 3 3 4", "context_pad: 1", param);
  cv::Mat expected;
  cv::resize(CountingImage(3, 8, 8)(cv::Rect(1, 2, 5, 5)), expected, cv::Size(4, 4), 0, 0,
             cv::INTER_LINEAR);
  for (int h = 0; h < 4; ++h) {
    for (int w = 0; w < 4; ++w) {
      EXPECT_EQ(values[h * 4 + w], expected.at<cv::Vec3b>(h, w)[0]) << h << " " << w;
    }
  }
}

TYPED_TEST(WindowDataLayerTest, LeavesZerosOutsideOfTheImage) {
  // The region is -1 to 3 in both directions, a fifth of it outside: one row and column of 4 x 4.
  const vector<TypeParam> values =
      this->Window("0 0 1 1", "context_pad: 1", "crop_size: 4 mean_value: 1");
  cv::Mat expected;
  cv::resize(CountingImage(3, 8, 8)(cv::Rect(0, 0, 4, 4)), expected, cv::Size(3, 3), 0, 0,
             cv::INTER_LINEAR);
  for (int h = 0; h < 4; ++h) {
    for (int w = 0; w < 4; ++w) {
      const int inside = h == 0 || w == 0 ? 0 : expected.at<cv::Vec3b>(h - 1, w - 1)[0] - 1;
      EXPECT_EQ(values[h * 4 + w], inside) << h << " " << w;
    }
  }
}

TYPED_TEST(WindowDataLayerTest, MakesWindowsSquare) {
  // 2 x 1 around (3, 3.5) becomes 2 x 2; the region from 2 to 4 and, rounded, 3 to 5.
  const vector<TypeParam> values = this->Window("2 3 3 3", "crop_mode: 'square'", "crop_size: 3");
  EXPECT_EQ(values, (vector<TypeParam>{32, 33, 34, 42, 43, 44, 52, 53, 54}));
}

TYPED_TEST(WindowDataLayerTest, SubtractsTheMiddleOfAMeanFile) {
  Blob<float> mean(1, 3, 4, 4);
  for (int i = 0; i < mean.count(); ++i) mean.mutable_cpu_data()[i] = i;
  BlobProto proto;
  mean.ToProto(&proto);
  const string file = NewFileName();
  WriteProtoToBinaryFile(proto, file);
  EXPECT_EQ(this->Window("2 3 3 4", "", "crop_size: 2 mean_file: '" + file + "'"),
            (vector<TypeParam>{32 - 5, 33 - 6, 42 - 9, 43 - 10}));
  ExpectContains(
      ErrorOf([&] { this->Window("0 0 1 1", "", "crop_size: 5 mean_file: '" + file + "'"); }),
      file);
}

// Caffe's draws: a window, then mirror; background windows first.
TYPED_TEST(WindowDataLayerTest, DrawsWindowsInCaffesOrder) {
  const string windows =
      NewFile(Image(0, {"1 0.9 0 0 1 1", "2 0.7 2 0 3 1", "9 0.2 4 0 5 1", "3 0.4 6 0 7 1"}) +
              Image(1, {"4 0.5 0 2 1 3", "5 0.35 2 2 3 3", "0 0 4 2 5 3"}));
  const string param =
      "batch_size: 5 fg_fraction: 0.5 fg_threshold: 0.5 bg_threshold: 0.35 cache_images: ";
  for (const char* cache : {"false", "true"}) {
    Caffe::set_random_seed(TestSeed());
    caffe_rng_rand();  // the transformer's, before set-up and after
    Caffe::RNG generator(caffe_rng_rand());
    rng_t& draw = *static_cast<rng_t*>(generator.generator());
    Caffe::set_random_seed(TestSeed());
    Source<TypeParam> source(
        WindowDataParameter(windows, param + cache, "crop_size: 2 mirror: true mean_value: 0"));
    const int backgrounds[] = {4, 24};  // their first pixels
    const int foregrounds[] = {0, 2, 20}, labels[] = {1, 2, 4};
    for (int batch = 0; batch < 4; ++batch) {
      source.Forward();
      for (int i = 0; i < 5; ++i) {
        const int window = draw() % (i < 3 ? 2 : 3);
        const int mirrored = draw() % 2;
        const int first = i < 3 ? backgrounds[window] : foregrounds[window];
        EXPECT_EQ(source.data().data_at(i, 0, 0, 0), first + mirrored);
        EXPECT_EQ(source.data().data_at(i, 2, 1, 1), 100 + first + 11 - mirrored);
        EXPECT_EQ(source.label().cpu_data()[i], i < 3 ? 0 : labels[window]);
      }
    }
  }
}

TYPED_TEST(WindowDataLayerTest, ResumesWhereTheNetWas) {
  const string windows = NewFile(Image(0, {"1 0.9 0 0 1 1", "2 0.7 2 0 3 1", "0 0 4 0 5 1"}));
  ExpectResumes<TypeParam>(
      WindowDataParameter(windows, "batch_size: 5", "crop_size: 2 mirror: true"));
}

TYPED_TEST(WindowDataLayerTest, SettingUpAgainBeginsAgain) {
  const string windows = NewFile(Image(0, {"1 0.9 0 0 1 1", "2 0.7 2 0 3 1", "0 0 4 0 5 1"}));
  ExpectBeginsAgain<TypeParam>(
      WindowDataParameter(windows, "batch_size: 5", "crop_size: 2 mirror: true"));
}

TYPED_TEST(WindowDataLayerTest, RefusesBadParameters) {
  const string windows = NewFile(Image(0, {"1 1 0 0 1 1", "0 0 2 2 3 3"}));
  const auto error = [&](const string& data, const string& transform = "crop_size: 4") {
    return SetUpError<TypeParam>(WindowDataParameter(windows, data, transform));
  };
  EXPECT_EQ(error("batch_size: 1"), "");
  ExpectContains(error(""), "batch_size");
  ExpectContains(error("batch_size: 1", ""), "crop_size");
  ExpectContains(error("batch_size: 1 context_pad: 2"), "context_pad 2");
  ExpectContains(error("batch_size: 1 crop_mode: 'round'"), "crop_mode 'round'");
  ExpectContains(error("batch_size: 1 fg_fraction: 1.5"), "fg_fraction");
  ExpectContains(error("batch_size: 1", "crop_size: 4 mean_value: 1 mean_value: 2"), "mean_value");
  const map<string, string> unknown = {{"resize_param", " { height: 9 width: 9 }"},
                                       {"force_gray", ": true"},
                                       {"img_rand_resize", "_upper: 9"},
                                       {"rand_resize_ratio", "_upper: 9"},
                                       {"vertical_stretch", "_upper: 9"},
                                       {"horizontal_stretch", "_lower: 0.5"}};
  for (const auto& [field, value] : unknown) {
    ExpectContains(error("batch_size: 1", "crop_size: 4 " + field + value),
                   "transform_param: WindowData does not know " + field);
  }
  ExpectContains(SetUpError<TypeParam>(WindowDataParameter("", "batch_size: 1")),
                 "source is missing");
  ExpectContains(SetUpError<TypeParam>(WindowDataParameter(windows + "x", "batch_size: 1")),
                 windows + "x");
}

TYPED_TEST(WindowDataLayerTest, RefusesBadWindowFiles) {
  const auto error = [](const string& text, const string& data = "batch_size: 4") {
    return SetUpError<TypeParam>(WindowDataParameter(NewFile(text), data));
  };
  const string good = Image(0, {"1 1 0 0 1 1", "0 0 2 2 3 3"});
  ExpectContains(error(""), "names no images");
  ExpectContains(error("image.jpg 1"), "image 0: 'image.jpg' stands where the #");
  ExpectContains(error("# 1\n"), "number is 1, expected is 0");
  ExpectContains(error(good + "# 1"), "image 1: the path is missing");
  ExpectContains(error("# 0 a.jpg 1 8 8 0"), "a.jpg has 1 channels");
  ExpectContains(error("# 0 a.jpg 3 8 8 2\n1 1 0 0 1 1\n1 1 0"), "corner is missing");
  ExpectContains(error("# 0 a.jpg 3 8 8 1\n1 1 3 0 2 1"), "nothing in it");
  ExpectContains(error("# 0 a.jpg 3 8 8 1\n0 1 0 0 2 1"), "labels of objects are positive");
  ExpectContains(error(Image(0, {"1 1 0 0 1 1"})), "no window is background");
  ExpectContains(error(Image(0, {"0 0 0 0 1 1"})), "no window is foreground");
  EXPECT_EQ(error(Image(0, {"0 0 0 0 1 1"}), "batch_size: 4 fg_fraction: 0"), "");
  ExpectContains(error("# 0 /no/a.jpg 3 8 8 1\n1 1 0 0 1 1", "batch_size: 1 cache_images: true"),
                 "/no/a.jpg");
}

TYPED_TEST(WindowDataLayerTest, NamesABadImage) {
  Source<TypeParam> missing(WindowDataParameter(NewFile("# 0 /no/a.jpg 3 8 8 1\n1 1 0 0 1 1"),
                                                "batch_size: 1 fg_fraction: 1"));
  ExpectContains(ErrorOf([&] { missing.Forward(); }), "image 0 (/no/a.jpg)");
  ExpectContains(ErrorOf([] {
                   Source<TypeParam>(WindowDataParameter(
                       NewFile("# 0 /no/a.jpg 1 8 8 1\n1 1 0 0 1 1"), "batch_size: 1"));
                 }),
                 "/no/a.jpg has 1 channels: WindowData is for 3");
  ExpectContains(ErrorOf([&] { this->Window("7 0 8 1", "", "crop_size: 2"); }),
                 "the window 7 0 8 1 lies outside");
  ExpectContains(ErrorOf([&] { this->Window("30 0 31 1", "context_pad: 1", "crop_size: 4"); }),
                 "the window 30 0 31 1 lies outside");
}

#endif

}  // namespace
}  // namespace caffe
