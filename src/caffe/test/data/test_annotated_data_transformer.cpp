#include <gtest/gtest.h>

#include "caffe/data_transformer.hpp"
#include "caffe/layers/base_data_layer.hpp"

#ifdef USE_OPENCV

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "caffe/test/support/test_files.hpp"
#include "caffe/util/image.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {
namespace {

using Corners = vector<float>;

TransformationParameter AnnotatedParameter(const string& text) {
  TransformationParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

NormalizedBBox BBox(float xmin, float ymin, float xmax, float ymax) {
  NormalizedBBox bbox;
  bbox.set_xmin(xmin);
  bbox.set_ymin(ymin);
  bbox.set_xmax(xmax);
  bbox.set_ymax(ymax);
  return bbox;
}

Corners CornersOf(const NormalizedBBox& bbox) {
  return {bbox.xmin(), bbox.ymin(), bbox.xmax(), bbox.ymax()};
}

void ExpectNear(const Corners& found, const Corners& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

/// Pixel (h, w) of channel c is 100 c + 10 h + w.
cv::Mat Image(int height, int width) {
  cv::Mat image(height, width, CV_8UC2);
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w)
      image.at<cv::Vec2b>(h, w) = cv::Vec2b(10 * h + w, 100 + 10 * h + w);
  }
  return image;
}

/// That image with label 6 and two boxes: label 1 in the left upper quarter, label 2 everywhere.
AnnotatedDatum Annotated(int height, int width) {
  AnnotatedDatum annotated;
  CVMatToDatum(Image(height, width), annotated.mutable_datum());
  annotated.mutable_datum()->set_label(6);
  annotated.set_type(AnnotatedDatum::BBOX);
  for (int label : {1, 2}) {
    AnnotationGroup* const group = annotated.add_annotation_group();
    group->set_group_label(label);
    Annotation* const annotation = group->add_annotation();
    annotation->set_instance_id(10 + label);
    *annotation->mutable_bbox() = label == 1 ? BBox(0, 0, 0.5f, 0.5f) : BBox(0, 0, 1, 1);
  }
  return annotated;
}

/// Each value of a channel of an image.
vector<int> Channel(const cv::Mat& image, int channel) {
  vector<int> values;
  for (int h = 0; h < image.rows; ++h) {
    for (int w = 0; w < image.cols; ++w) {
      values.push_back(image.ptr<uint8_t>(h)[w * image.channels() + channel]);
    }
  }
  return values;
}

TEST(AnnotatedDataTransformer, CutsAnImageAndItsBoxes) {
  DataTransformer<float> transformer(AnnotatedParameter(""), TRAIN);
  AnnotatedDatum cropped;
  transformer.CropImage(Annotated(4, 8), BBox(0.25f, 0, 0.75f, 0.5f), &cropped);
  const cv::Mat image = transformer.ImageOf(cropped.datum());
  EXPECT_EQ(Channel(image, 0), (vector<int>{2, 3, 4, 5, 12, 13, 14, 15}));
  EXPECT_EQ(Channel(image, 1), (vector<int>{102, 103, 104, 105, 112, 113, 114, 115}));
  EXPECT_EQ(cropped.datum().label(), 6);
  EXPECT_EQ(cropped.type(), AnnotatedDatum::BBOX);
  ASSERT_EQ(cropped.annotation_group_size(), 2);
  EXPECT_EQ(cropped.annotation_group(0).annotation(0).instance_id(), 11);
  ExpectNear(CornersOf(cropped.annotation_group(0).annotation(0).bbox()), {0, 0, 0.5f, 1});
  ExpectNear(CornersOf(cropped.annotation_group(1).annotation(0).bbox()), {0, 0, 1, 1});
}

TEST(AnnotatedDataTransformer, LeavesOutBoxesThatACutHasNoPartOf) {
  DataTransformer<float> transformer(AnnotatedParameter(""), TRAIN);
  AnnotatedDatum cropped;
  transformer.CropImage(Annotated(4, 8), BBox(0.5f, 0.5f, 1, 1), &cropped);
  ASSERT_EQ(cropped.annotation_group_size(), 1);
  EXPECT_EQ(cropped.annotation_group(0).group_label(), 2);
}

TEST(AnnotatedDataTransformer, LeavesOutBoxesThatDoNotMeetTheConstraint) {
  DataTransformer<float> transformer(AnnotatedParameter("emit_constraint { emit_type: CENTER }"),
                                     TRAIN);
  AnnotatedDatum cropped;  // the centre of label 1 is (1/4, 1/4), that of label 2 (1/2, 1/2)
  transformer.CropImage(Annotated(4, 8), BBox(0, 0, 0.4f, 0.4f), &cropped);
  ASSERT_EQ(cropped.annotation_group_size(), 1);
  EXPECT_EQ(cropped.annotation_group(0).group_label(), 1);
}

TEST(AnnotatedDataTransformer, CutsAtLeastOnePixelOfAnImage) {
  DataTransformer<float> transformer(AnnotatedParameter(""), TRAIN);
  cv::Mat cropped;
  transformer.CropImage(Image(4, 8), BBox(1, 1, 1, 1), &cropped);
  EXPECT_EQ(Channel(cropped, 0), vector<int>{37});
  transformer.CropImage(Image(4, 8), BBox(-3, -3, 0.25f, 0.25f), &cropped);
  EXPECT_EQ(Channel(cropped, 0), (vector<int>{0, 1})) << "no further than the image";
}

TEST(AnnotatedDataTransformer, PutsAnImageIntoALargerOne) {
  DataTransformer<float> transformer(AnnotatedParameter("mean_value: 7 mean_value: 9"), TRAIN);
  NormalizedBBox box;
  cv::Mat expanded;
  transformer.ExpandImage(Image(2, 4), 2, &box, &expanded);
  ASSERT_EQ(expanded.size(), cv::Size(8, 4));
  // The box is the larger image as a part of the smaller: it says where that is.
  const int x = cvRound(-box.xmin() * 4), y = cvRound(-box.ymin() * 2);
  ExpectNear(CornersOf(box), {-x / 4.f, -y / 2.f, (8 - x) / 4.f, (4 - y) / 2.f});
  EXPECT_EQ(Channel(expanded(cv::Rect(x, y, 4, 2)), 0), Channel(Image(2, 4), 0));
  expanded(cv::Rect(x, y, 4, 2)).setTo(cv::Scalar(7, 9));
  EXPECT_EQ(Channel(expanded, 0), vector<int>(32, 7));
  EXPECT_EQ(Channel(expanded, 1), vector<int>(32, 9));

  Datum datum;
  CVMatToDatum(Image(2, 4), &datum);
  datum.set_label(5);
  Datum expanded_datum;
  transformer.ExpandImage(datum, 3, &box, &expanded_datum);
  EXPECT_EQ(expanded_datum.height(), 6);
  EXPECT_EQ(expanded_datum.width(), 12);
  EXPECT_EQ(expanded_datum.label(), 5);
}

TEST(AnnotatedDataTransformer, ExpandsAsTheFieldSays) {
  DataTransformer<float> transformer(
      AnnotatedParameter("expand_param { prob: 1 max_expand_ratio: 3 }"), TRAIN);
  AnnotatedDatum expanded;
  transformer.ExpandImage(Annotated(40, 80), &expanded);
  const float ratio = expanded.datum().width() / 80.f;
  EXPECT_GE(ratio, 1);
  EXPECT_LE(ratio, 3);
  // Both boxes shrink and stay where the image is.
  const Corners quarter = CornersOf(expanded.annotation_group(0).annotation(0).bbox());
  const Corners whole = CornersOf(expanded.annotation_group(1).annotation(0).bbox());
  EXPECT_NEAR(whole[2] - whole[0], 80.f / expanded.datum().width(), 1e-6);
  EXPECT_NEAR(whole[3] - whole[1], 40.f / expanded.datum().height(), 1e-6);
  EXPECT_NEAR(quarter[0], whole[0], 1e-6);
  EXPECT_NEAR(quarter[2] - quarter[0], (whole[2] - whole[0]) / 2, 1e-6);

  const AnnotatedDatum annotated = Annotated(4, 8);
  for (const char* text : {"", "expand_param { prob: 0 max_expand_ratio: 3 }"}) {
    DataTransformer<float>(AnnotatedParameter(text), TRAIN).ExpandImage(annotated, &expanded);
    EXPECT_EQ(expanded.SerializeAsString(), annotated.SerializeAsString()) << text;
  }
  ExpectContains(ErrorOf([] {
                   DataTransformer<float>(
                       AnnotatedParameter("expand_param { max_expand_ratio: 0.5 }"), TRAIN);
                 }),
                 "max_expand_ratio");
}

TEST(AnnotatedDataTransformer, DistortsColours) {
  Datum datum, distorted;
  CVMatToDatum(cv::Mat(2, 2, CV_8UC3, cv::Scalar(50, 60, 70)), &datum);
  datum.set_label(4);
  // Contrast is the one change whose size is not drawn if its bounds agree.
  DataTransformer<float> transformer(
      AnnotatedParameter(
          "distort_param { contrast_prob: 1.1 contrast_lower: 2 contrast_upper: 2 }"),
      TRAIN);
  transformer.DistortImage(datum, &distorted);
  EXPECT_EQ(Channel(transformer.ImageOf(distorted), 0), vector<int>(4, 100));
  EXPECT_EQ(Channel(transformer.ImageOf(distorted), 2), vector<int>(4, 140));
  EXPECT_EQ(distorted.label(), 4);
  DataTransformer<float>(AnnotatedParameter(""), TRAIN).DistortImage(datum, &distorted);
  EXPECT_EQ(distorted.SerializeAsString(), datum.SerializeAsString());
}

TEST(AnnotatedDataTransformer, TransformsAnImageWithItsAnnotations) {
  DataTransformer<float> transformer(AnnotatedParameter("scale: 2 crop_h: 2 crop_w: 4"), TEST);
  transformer.InitRand();
  const AnnotatedDatum annotated = Annotated(4, 8);
  Blob<float> blob(1, 2, 2, 4);
  google::protobuf::RepeatedPtrField<AnnotationGroup> groups;
  bool mirrored = true;
  transformer.Transform(annotated, &blob, &groups, &mirrored);
  EXPECT_FALSE(mirrored);
  EXPECT_EQ(blob.data_at(0, 0, 0, 0), 2 * 12) << "rows 1 and 2, columns 2 to 5";
  EXPECT_EQ(blob.data_at(0, 1, 1, 3), 2 * 125);
  ASSERT_EQ(groups.size(), 2);
  ExpectNear(CornersOf(groups.Get(0).annotation(0).bbox()), {0, 0, 0.5f, 0.5f});
  ExpectNear(CornersOf(groups.Get(1).annotation(0).bbox()), {0, 0, 1, 1});

  vector<AnnotationGroup> listed(1);
  transformer.Transform(annotated, &blob, &listed);
  ASSERT_EQ(listed.size(), 3u) << "behind what is there";
  EXPECT_EQ(listed[1].SerializeAsString(), groups.Get(0).SerializeAsString());
}

TEST(AnnotatedDataTransformer, MirrorsImageAndBoxes) {
  DataTransformer<float> transformer(AnnotatedParameter("mirror: true"), TRAIN);
  transformer.InitRand();
  const AnnotatedDatum annotated = Annotated(2, 4);
  Blob<float> blob(1, 2, 2, 4);
  int mirrored_times = 0;
  for (int i = 0; i < 40; ++i) {
    vector<AnnotationGroup> groups;
    bool mirrored;
    transformer.Transform(annotated, &blob, &groups, &mirrored);
    EXPECT_EQ(blob.data_at(0, 0, 1, 0), mirrored ? 13 : 10);
    ExpectNear(CornersOf(groups[0].annotation(0).bbox()),
               mirrored ? Corners{0.5f, 0, 1, 0.5f} : Corners{0, 0, 0.5f, 0.5f});
    mirrored_times += mirrored;
  }
  EXPECT_GT(mirrored_times, 0);
  EXPECT_LT(mirrored_times, 40);
}

TEST(AnnotatedDataTransformer, SaysWhichPartOfTheImageItTook) {
  DataTransformer<float> transformer(AnnotatedParameter("crop_size: 2"), TRAIN);
  transformer.InitRand();
  Datum datum;
  CVMatToDatum(Image(4, 8), &datum);
  for (int i = 0; i < 10; ++i) {
    Blob<float> blob(1, 2, 2, 2);
    NormalizedBBox box;
    bool mirrored;
    if (i % 2) {
      transformer.Transform(datum, &blob, &box, &mirrored);
    } else {
      transformer.Transform(Image(4, 8), &blob, &box, &mirrored);
    }
    EXPECT_EQ(blob.data_at(0, 0, 0, 0), 10 * (box.ymin() * 4) + box.xmin() * 8);
    EXPECT_EQ(box.xmax() - box.xmin(), 0.25f);
    EXPECT_EQ(box.ymax() - box.ymin(), 0.5f);
  }
}

// With a frame: 4 x 8 pixels become 8 x 16 in the middle of 16 x 16.
TEST(AnnotatedDataTransformer, ResizesBeforeItCuts) {
  const string resize =
      "resize_param { height: 16 width: 16 resize_mode: FIT_LARGE_SIZE_AND_PAD "
      "pad_value: 1 interp_mode: NEAREST }";
  DataTransformer<float> transformer(AnnotatedParameter(resize), TEST);
  transformer.InitRand();
  const AnnotatedDatum annotated = Annotated(4, 8);
  EXPECT_EQ(transformer.InferBlobShape(annotated.datum()), (vector<int>{1, 2, 16, 16}));
  EXPECT_EQ(transformer.InferBlobShape(Image(4, 8)), (vector<int>{1, 2, 16, 16}));
  Blob<float> blob(1, 2, 16, 16);
  vector<AnnotationGroup> groups;
  transformer.Transform(annotated, &blob, &groups);
  EXPECT_EQ(blob.data_at(0, 0, 3, 5), 1) << "the frame";
  EXPECT_EQ(blob.data_at(0, 0, 4, 0), 0);
  EXPECT_EQ(blob.data_at(0, 0, 6, 2), 11);
  EXPECT_EQ(blob.data_at(0, 0, 11, 15), 37);
  ExpectNear(CornersOf(groups[0].annotation(0).bbox()), {0, 0.25f, 0.5f, 0.5f});

  // The same by the two halves that threads use, and from a compressed record.
  Datum encoded = annotated.datum();
  std::vector<uint8_t> bytes;
  cv::Mat three;
  cv::extractChannel(Image(4, 8), three, 0);
  cv::imencode(".png", three, bytes);
  encoded.set_data(string(bytes.begin(), bytes.end()));
  encoded.set_encoded(true);
  const vector<int> shape = transformer.InferBlobShape(encoded);
  EXPECT_EQ(shape, (vector<int>{1, 1, 16, 16}));
  Blob<float> grey(shape);
  transformer.TransformTo(encoded, transformer.Draw(), shape, grey.mutable_cpu_data());
  EXPECT_EQ(grey.data_at(0, 0, 11, 15), 37);

  DataTransformer<float> small(
      AnnotatedParameter("resize_param { height: 2 width: 2 resize_mode: FIT_SMALL_SIZE }"), TEST);
  EXPECT_EQ(small.InferBlobShape(Image(4, 8)), (vector<int>{1, 2, 2, 4}));
  ExpectContains(
      ErrorOf([] { DataTransformer<float>(AnnotatedParameter("resize_param { }"), TEST); }),
      "give height and width");
}

TEST(AnnotatedDataTransformer, GivesImagesBack) {
  DataTransformer<double> transformer(
      AnnotatedParameter("scale: 0.5 mean_value: 20 mean_value: 60"), TEST);
  transformer.InitRand();
  Blob<double> blob(2, 2, 4, 8);
  transformer.Transform(vector<cv::Mat>{Image(4, 8), Image(4, 8)}, &blob);
  EXPECT_EQ(blob.data_at(1, 1, 2, 3), (123 - 60) / 2.);
  vector<cv::Mat> images;
  transformer.TransformInv(&blob, &images);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(Channel(images[1], 0), Channel(Image(4, 8), 0));
  EXPECT_EQ(Channel(images[1], 1), Channel(Image(4, 8), 1));
  blob.mutable_cpu_data()[0] = 1000;
  blob.mutable_cpu_data()[1] = -1000;
  images.clear();
  transformer.TransformInv(&blob, &images);
  EXPECT_EQ(images[0].at<cv::Vec2b>(0, 0)[0], 255);
  EXPECT_EQ(images[0].at<cv::Vec2b>(0, 1)[0], 0);
}

/// A layer as a program registers it, which augments in its own way.
template <typename Dtype>
class OwnDataLayer : public BaseDataLayer<Dtype> {
 public:
  explicit OwnDataLayer(const LayerParameter& param) : BaseDataLayer<Dtype>(param) {}
  const char* type() const override { return "OwnData"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}
};

// What a layer does not do it must not pass over; what a program's own layer does, it does not say.
TEST(AnnotatedDataTransformer, IsNotAskedForAugmentationByBuiltInLayersThatHaveNone) {
  LayerParameter param;
  param.set_type("MemoryData");
  param.mutable_memory_data_param()->set_batch_size(1);
  param.mutable_memory_data_param()->set_channels(1);
  param.mutable_memory_data_param()->set_height(1);
  param.mutable_memory_data_param()->set_width(1);
  Blob<float> data, label;
  for (const char* field : {"distort_param", "expand_param", "emit_constraint"}) {
    *param.mutable_transform_param() = AnnotatedParameter(string(field) + " { }");
    const auto layer = LayerRegistry<float>::CreateLayer(param);
    ExpectContains(ErrorOf([&] { layer->SetUp({}, {&data, &label}); }), field);
  }
  param.set_type("OwnData");
  OwnDataLayer<float> layer(param);
  layer.SetUp({}, {&data, &label});
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV
