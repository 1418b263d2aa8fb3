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

TYPED_TEST(DenseImageDataLayerTest, ShrinksLabels) {
  cv::Mat labels(4, 4, CV_8U, cv::Scalar(0));
  labels(cv::Rect(2, 0, 2, 4)).setTo(200);
  const string list = NewFile(NewImageAndLabels(CountingImage(3, 8, 8), labels));
  Source<TypeParam> smaller(
      DenseImageDataParameter(list, "new_height: 6 new_width: 6 label_divide_factor: 3"));
  EXPECT_EQ(smaller.data().shape(), (vector<int>{1, 3, 6, 6}));
  EXPECT_EQ(smaller.label().shape(), (vector<int>{1, 1, 2, 2}));
  EXPECT_EQ(smaller.Values(1, 1), (vector<TypeParam>{0, 200, 0, 200}));
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

TYPED_TEST(DenseImageDataLayerTest, RefusesBadInput) {
  const string list = DenseMirrorList(1);
  const auto error = [&](const string& data, const string& transform = "") {
    return SetUpError<TypeParam>(DenseImageDataParameter(list, data, transform));
  };
  ExpectContains(error("label_divide_factor: 0"), "label_divide_factor");
  ExpectContains(error("label_divide_factor: 5"), "leaves nothing");
  ExpectContains(error("label_divide_factor: 2", "crop_size: 2"), "exclude each other");
  ExpectContains(error("label_divide_factor: 2 crop_height: 2 crop_width: 2"),
                 "exclude each other");
  ExpectContains(error("crop_height: 2"), "crop_w");
  ExpectContains(error("mean_file: '/nowhere'"), "/nowhere");
  ExpectContains(error("rotate: true"), "rotate is not available");
  const string three = NewFile("a.png b.png c.png\n");
  ExpectContains(SetUpError<TypeParam>(DenseImageDataParameter(three, "")), three + ", line 1");
}

#endif

}  // namespace
}  // namespace caffe
