#include "caffe/layers/image_seg_data_layer.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/source_layer.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

LayerParameter ImageSegDataParameter(const string& list, const string& data,
                                     const string& transform = "", Phase phase = TRAIN) {
  return ParseSource(Join("name: 'data' type: 'ImageSegData' image_data_param { source: '", list,
                          "' ", data, " } transform_param { ", transform, " }"),
                     phase);
}

string SegMirrorList(int count, int height = 4, int width = 6) {
  return NewListOfOwnLabels(50, count, height, width);
}

template <typename Dtype>
class ImageSegDataLayerTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ImageSegDataLayerTest, RealTypes);

TYPED_TEST(ImageSegDataLayerTest, SaysHowLargeImagesAre) {
  const string list =
      NewFile(NewImageAndLabels(CountingImage(3, 2, 3), CountingImage(1, 2, 3, 7)) +
              NewImageAndLabels(CountingImage(3, 2, 3, 1), CountingImage(1, 2, 3, 8)));
  Source<TypeParam> source(ImageSegDataParameter(list, "batch_size: 2 label_type: PIXEL"), 3);
  EXPECT_EQ(source.tops[2]->shape(), (vector<int>{2, 1, 1, 2}));
  EXPECT_EQ(source.Values(1, 2), (vector<TypeParam>{2, 3, 2, 3}));
}

TYPED_TEST(ImageSegDataLayerTest, ReadsALabelForEachImageOrNone) {
  const string image = NewImage(CountingImage(3, 1, 2));
  Source<TypeParam> one(
      ImageSegDataParameter(NewFile(image + " 7\n" + image + " 255\n"), "batch_size: 2"));
  EXPECT_EQ(one.Values(1, 1), (vector<TypeParam>{7, 7, 255, 255}));
  Source<TypeParam> none(
      ImageSegDataParameter(NewFile(image + "\n"), "label_type: NONE ignore_label: 21"));
  EXPECT_EQ(none.Values(1, 1), (vector<TypeParam>{21, 21}));
}

// To the right and below, the image with the mean and the labels with ignore_label.
TYPED_TEST(ImageSegDataLayerTest, FillsUpToTheCrop) {
  const string list =
      NewFile(NewImageAndLabels(CountingImage(1, 2, 2, 1), CountingImage(1, 2, 2, 1)) +
              NewImageAndLabels(CountingImage(1, 4, 3, 1), CountingImage(1, 4, 3, 1)));
  Source<TypeParam> source(
      ImageSegDataParameter(list,
                            "batch_size: 2 is_color: false label_type: PIXEL ignore_label: 200",
                            "crop_size: 3 mean_value: 10", TEST),
      3);
  source.Forward();
  const vector<TypeParam> values(source.data().cpu_data(), source.data().cpu_data() + 18);
  EXPECT_EQ(values, (vector<TypeParam>{-9, -8, 0, 1, 2, 0, 0, 0, 0,  //
                                       -9, -8, -7, 1, 2, 3, 11, 12, 13}));
  const vector<TypeParam> labels(source.label().cpu_data(), source.label().cpu_data() + 18);
  EXPECT_EQ(labels, (vector<TypeParam>{1, 2, 200, 11, 12, 200, 200, 200, 200,  //
                                       1, 2, 3, 11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(source.Values(1, 2), (vector<TypeParam>{2, 2, 3, 3}));
}

TYPED_TEST(ImageSegDataLayerTest, FillsUpEachChannelWithItsMean) {
  const string image = NewImage(CountingImage(3, 1, 1));
  const string means = "mean_value: 4 mean_value: 5 mean_value: 6 ";
  for (const string order : {"", "bgr2rgb: true"}) {
    Source<TypeParam> source(
        ImageSegDataParameter(NewFile(image + " 1\n"), "", means + "crop_h: 1 crop_w: 2 " + order));
    const vector<TypeParam> values = source.Values(1);
    for (int c = 0; c < 3; ++c) EXPECT_EQ(values[2 * c + 1], 0) << order;
  }
}

TYPED_TEST(ImageSegDataLayerTest, ResumesWhereTheNetWas) {
  for (const char* order : {"", "shuffle: true "}) {
    ExpectResumes<TypeParam>(
        ImageSegDataParameter(SegMirrorList(4), Join("batch_size: 3 label_type: PIXEL ", order),
                              "mirror: true crop_size: 5"),
        3);
  }
}

TYPED_TEST(ImageSegDataLayerTest, RefusesBadInput) {
  const string list = SegMirrorList(1);
  const auto error = [&](const string& data, const string& transform = "") {
    return SetUpError<TypeParam>(ImageSegDataParameter(list, data, transform));
  };
  ExpectContains(error("label_type: PIXEL ignore_label: 256"),
                 "ignore_label must be from 0 to 255");
  ExpectContains(error("label_type: PIXEL", "mean_file: 'mean'"), "mean");
  ExpectContains(
      error("label_type: PIXEL", "resize_param { height: 9 width: 9 }"),
      "resize_param, which its labels would need too: give image_data_param: new_height");
  for (const char* resizing : {"img_rand_resize_lower: 3 img_rand_resize_upper: 4",
                               "rand_resize_ratio_lower: 1 rand_resize_ratio_upper: 2",
                               "vertical_stretch_upper: 2", "horizontal_stretch_lower: 0.5"}) {
    ExpectContains(error("label_type: PIXEL", Join("crop_size: 3 ", resizing)), "resizing is for");
  }
  ExpectContains(error(""), "is no label of an image");
  const string lone = NewFile("a.png\n");
  ExpectContains(SetUpError<TypeParam>(ImageSegDataParameter(lone, "label_type: PIXEL")),
                 "label_type PIXEL");
  ExpectContains(SetUpError<TypeParam>(ImageSegDataParameter(lone, "")), lone + ", line 1");
}

#endif

}  // namespace
}  // namespace caffe
