// What DenseImageData and ImageSegData have in common: images with a label for each pixel.
#include <gtest/gtest.h>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/source_layer.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

template <typename D>
struct DenseImages {
  using Dtype = D;
  static constexpr int kTops = 2;
  static constexpr char kBegin[] = "type: 'DenseImageData' dense_image_data_param { ";
};
template <typename D>
struct SegmentedImages {
  using Dtype = D;
  static constexpr int kTops = 3;
  static constexpr char kBegin[] = "type: 'ImageSegData' image_data_param { label_type: PIXEL ";
};

template <typename Kind>
class LabelImageLayers : public ::testing::Test {
 protected:
  using Dtype = typename Kind::Dtype;

  static LayerParameter Parameter(const string& list, const string& data,
                                  const string& transform = "") {
    return ParseSource(Join("name: 'data' ", Kind::kBegin, "source: '", list, "' ", data,
                            " } transform_param { ", transform, " }"));
  }
  static Source<Dtype> Make(const string& list, const string& data, const string& transform = "") {
    return Source<Dtype>(Parameter(list, data, transform), Kind::kTops);
  }
  static string MakeError(const string& list, const string& data = "",
                          const string& transform = "") {
    return SetUpError<Dtype>(Parameter(list, data, transform), Kind::kTops);
  }

  const string own_labels_ = NewListOfOwnLabels(60, 4, 4, 6);
};
using Kinds = ::testing::Types<DenseImages<float>, DenseImages<double>, SegmentedImages<float>,
                               SegmentedImages<double>>;
TYPED_TEST_SUITE(LabelImageLayers, Kinds);

TYPED_TEST(LabelImageLayers, ReadPairs) {
  const string list =
      NewFile(NewImageAndLabels(CountingImage(3, 2, 3), CountingImage(1, 2, 3, 7)) +
              NewImageAndLabels(CountingImage(3, 2, 3, 1), CountingImage(1, 2, 3, 8)));
  auto source = this->Make(list, "batch_size: 2", "mean_value: 1 scale: 2");
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 3, 2, 3}));
  EXPECT_EQ(source.label().shape(), (vector<int>{2, 1, 2, 3}));
  source.Forward();
  EXPECT_EQ(source.data().data_at(0, 1, 1, 2), (62 - 1) * 2);
  EXPECT_EQ(source.data().data_at(1, 0, 0, 0), 0);
  EXPECT_EQ(source.Labels(1), (vector<int>{7, 8, 9, 17, 18, 19, 8, 9, 10, 18, 19, 20}));
}

TYPED_TEST(LabelImageLayers, ResizeLabelsWithoutInterpolation) {
  cv::Mat labels(4, 4, CV_8U, cv::Scalar(0));
  labels(cv::Rect(2, 0, 2, 4)).setTo(200);
  const string list = NewFile(NewImageAndLabels(CountingImage(3, 8, 8), labels));
  auto larger = this->Make(list, "new_height: 6 new_width: 6");
  for (int label : larger.Labels(1)) EXPECT_TRUE(label == 0 || label == 200) << label;
  auto smaller = this->Make(list, "new_height: 2 new_width: 2");
  EXPECT_EQ(smaller.Labels(1), (vector<int>{0, 200, 0, 200}));
}

TYPED_TEST(LabelImageLayers, CutAndMirrorBothAlike) {
  auto source = this->Make(this->own_labels_, "batch_size: 3 is_color: false shuffle: true",
                           "mirror: true crop_size: 3");
  for (int i = 0; i < 5; ++i) {
    source.Forward();
    EXPECT_EQ(source.label().shape(), (vector<int>{3, 1, 3, 3}));
    for (int k = 0; k < source.data().count(); ++k) {
      EXPECT_EQ(source.data().cpu_data()[k], source.label().cpu_data()[k]);
    }
  }
}

TYPED_TEST(LabelImageLayers, ResumeWhereTheNetWasAndBeginAgainWhenSetUp) {
  for (const char* order : {"", "shuffle: true"}) {
    const LayerParameter param = this->Parameter(this->own_labels_, Join("batch_size: 3 ", order),
                                                 "mirror: true crop_size: 3");
    ExpectResumes<typename TypeParam::Dtype>(param, TypeParam::kTops);
    ExpectBeginsAgain<typename TypeParam::Dtype>(param, TypeParam::kTops);
  }
}

TYPED_TEST(LabelImageLayers, RefuseBadInput) {
  const string& list = this->own_labels_;
  ExpectContains(this->MakeError(list, "batch_size: 0"), "batch_size");
  ExpectContains(this->MakeError(list, "new_width: 3"), "new_height 0 and new_width 3");
  ExpectContains(this->MakeError(list, "", "resize_param { height: 9 width: 9 }"), "resize_param");
  ExpectContains(this->MakeError(""), "source is missing");
  const string unlike = NewImageAndLabels(CountingImage(3, 4, 4), CountingImage(1, 4, 5));
  ExpectContains(this->MakeError(NewFile(unlike)), "4 x 5");
  const string missing = NewImage(CountingImage(3, 4, 4)) + " /nowhere.png\n";
  ExpectContains(this->MakeError(NewFile(missing)), "/nowhere.png");
}

#endif

}  // namespace
}  // namespace caffe
