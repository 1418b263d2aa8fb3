#include "caffe/layers/dense_image_data_layer.hpp"

#include <gtest/gtest.h>

#include <set>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/source_layer.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

LayerParameter DenseImageDataParameter(const string& list, const string& data,
                                       const string& transform = "", Phase phase = TRAIN) {
  return ParseSource(Join("name: 'data' type: 'DenseImageData' dense_image_data_param { source: '",
                          list, "' ", data, " } transform_param { ", transform, " }"),
                     phase);
}

string DenseMirrorList(int count, int height = 4, int width = 6) {
  return NewListOfOwnLabels(60, count, height, width);
}

template <typename Dtype>
class DenseImageDataLayerTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseImageDataLayerTest, RealTypes);

TYPED_TEST(DenseImageDataLayerTest, ReadsPairs) {
  const string list =
      NewFile(NewImageAndLabels(CountingImage(3, 2, 3), CountingImage(1, 2, 3, 7)) +
              NewImageAndLabels(CountingImage(3, 2, 3, 1), CountingImage(1, 2, 3, 8)));
  Source<TypeParam> source(
      DenseImageDataParameter(list, "batch_size: 2", "mean_value: 1 scale: 2"));
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 3, 2, 3}));
  EXPECT_EQ(source.label().shape(), (vector<int>{2, 1, 2, 3}));
  source.Forward();
  EXPECT_EQ(source.data().data_at(0, 1, 1, 2), (62 - 1) * 2);
  EXPECT_EQ(source.data().data_at(1, 0, 0, 0), 0);
  EXPECT_EQ(source.Values(1, 1), (vector<TypeParam>{7, 8, 9, 17, 18, 19, 8, 9, 10, 18, 19, 20}));
}

TYPED_TEST(DenseImageDataLayerTest, ResizesLabelsWithoutInterpolation) {
  cv::Mat labels(4, 4, CV_8U, cv::Scalar(0));
  labels(cv::Rect(2, 0, 2, 4)).setTo(200);
  const string list = NewFile(NewImageAndLabels(CountingImage(3, 8, 8), labels));
  Source<TypeParam> source(DenseImageDataParameter(list, "new_height: 6 new_width: 6"));
  for (TypeParam label : source.Values(1, 1)) EXPECT_TRUE(label == 0 || label == 200) << label;
  Source<TypeParam> smaller(
      DenseImageDataParameter(list, "new_height: 6 new_width: 6 label_divide_factor: 3"));
  EXPECT_EQ(smaller.data().shape(), (vector<int>{1, 3, 6, 6}));
  EXPECT_EQ(smaller.label().shape(), (vector<int>{1, 1, 2, 2}));
  EXPECT_EQ(smaller.Values(1, 1), (vector<TypeParam>{0, 200, 0, 200}));
}

TYPED_TEST(DenseImageDataLayerTest, CutsAndMirrorsBothAlike) {
  Source<TypeParam> source(DenseImageDataParameter(DenseMirrorList(3),
                                                   "batch_size: 3 is_color: false shuffle: true",
                                                   "mirror: true crop_size: 3"));
  for (int i = 0; i < 5; ++i) {
    source.Forward();
    EXPECT_EQ(source.label().shape(), (vector<int>{3, 1, 3, 3}));
    for (int k = 0; k < source.data().count(); ++k) {
      EXPECT_EQ(source.data().cpu_data()[k], source.label().cpu_data()[k]);
    }
  }
}

TYPED_TEST(DenseImageDataLayerTest, ReadsSegNetsOwnFields) {
  Source<TypeParam> source(DenseImageDataParameter(
      DenseMirrorList(1), "is_color: false crop_height: 2 crop_width: 3 mirror: true", "", TEST));
  EXPECT_EQ(source.data().shape(), (vector<int>{1, 1, 2, 3}));
  std::set<int> steps;
  for (int i = 0; i < 40; ++i) {
    source.Forward();
    EXPECT_EQ(source.data().shape(), source.label().shape());
    EXPECT_EQ(source.data().data_at(0, 0, 1, 1), source.label().data_at(0, 0, 1, 1));
    steps.insert(int(source.data().data_at(0, 0, 0, 1) - source.data().data_at(0, 0, 0, 0)));
  }
  EXPECT_EQ(steps, (std::set<int>{-1, 1}));
}

TYPED_TEST(DenseImageDataLayerTest, ResumesWhereTheNetWas) {
  const string list = DenseMirrorList(4);
  for (const char* order : {"", "shuffle: true"}) {
    ExpectResumes<TypeParam>(
        DenseImageDataParameter(list, Join("batch_size: 3 ", order), "mirror: true crop_size: 3"));
  }
}

TYPED_TEST(DenseImageDataLayerTest, SettingUpAgainBeginsAgain) {
  ExpectBeginsAgain<TypeParam>(DenseImageDataParameter(
      DenseMirrorList(4), "batch_size: 3 shuffle: true", "mirror: true crop_size: 3"));
}

TYPED_TEST(DenseImageDataLayerTest, RefusesBadInput) {
  const string list = DenseMirrorList(1);
  const auto error = [&](const string& data, const string& transform = "") {
    return SetUpError<TypeParam>(DenseImageDataParameter(list, data, transform));
  };
  ExpectContains(error("batch_size: 0"), "batch_size");
  ExpectContains(error("new_width: 3"), "new_height 0 and new_width 3");
  ExpectContains(error("label_divide_factor: 0"), "label_divide_factor");
  ExpectContains(error("label_divide_factor: 5"), "leaves nothing");
  ExpectContains(error("label_divide_factor: 2", "crop_size: 2"), "exclude each other");
  ExpectContains(error("label_divide_factor: 2 crop_height: 2 crop_width: 2"),
                 "exclude each other");
  ExpectContains(error("crop_height: 2"), "crop_w");
  ExpectContains(error("mean_file: '/nowhere'"), "/nowhere");
  ExpectContains(error("rotate: true"), "rotate is not available");
  ExpectContains(error("", "resize_param { height: 9 width: 9 }"), "resize_param");
  ExpectContains(SetUpError<TypeParam>(DenseImageDataParameter("", "")), "source is missing");
  const string three = NewFile("a.png b.png c.png\n");
  ExpectContains(SetUpError<TypeParam>(DenseImageDataParameter(three, "")), three + ", line 1");
  const string unlike = NewImageAndLabels(CountingImage(3, 4, 4), CountingImage(1, 4, 5));
  ExpectContains(SetUpError<TypeParam>(DenseImageDataParameter(NewFile(unlike), "")), "4 x 5");
  const string missing = NewImage(CountingImage(3, 4, 4)) + " /nowhere.png";
  ExpectContains(SetUpError<TypeParam>(DenseImageDataParameter(NewFile(missing), "")),
                 "/nowhere.png");
}

#endif

}  // namespace
}  // namespace caffe
