#ifndef CAFFE_DATA_TRANSFORMER_HPP_
#define CAFFE_DATA_TRANSFORMER_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// The random numbers for one image, as the generator gave them. They are drawn in the order of the
/// records, so that images may be decoded in any order, by several threads.
struct ImageDraws {
  uint32_t short_side = 0, ratio = 0, longer = 0, vertical = 0, horizontal = 0;  // resizing
  uint32_t mirror = 0, height = 0, width = 0;
  ResizeParameter::Interp_mode interpolation = ResizeParameter::LINEAR;  // of resize_param
};

/// A view of an image in memory, of any layout: value (c, h, w) lies at
/// data[c * channel_step + h * row_step + w * step].
template <typename Value>
struct ImageView {
  const Value* data;
  int channels, height, width;
  size_t channel_step, row_step, step;

  /// Channels outermost, as in records and blobs.
  static ImageView Planar(const Value* data, int channels, int height, int width) {
    return {data, channels, height, width, size_t(height) * width, size_t(width), 1};
  }
};

/// Where an image of `image_height` x `image_width` is cropped, and whether it is then mirrored.
struct ImageCrop {
  bool mirror = false;
  int h_offset = 0, w_offset = 0;
  int height = 0, width = 0;
  int image_height = 0, image_width = 0;
};

/// Throws Error for fields that change an image together with its annotations (distort_param,
/// expand_param, emit_constraint), which DataTransformer's Transform ignores: for image sources
/// without annotations.
void RefuseAugmentation(const TransformationParameter& param);

/// From images to blobs: y = (x - mean) * scale, cropped to crop_size, or to crop_h by crop_w,
/// (at random in TRAIN, in the middle in TEST) and mirrored at random if `mirror`; before that
/// resized by resize_param, and at random by NVCaffe's fields. Draws per image: the interp_mode if
/// resize_param has several, those of the random resizing, mirror, row and column of the crop's
/// corner.
template <typename Dtype>
class DataTransformer {
 public:
  /// Throws Error for a mean file that cannot be read or contradicts mean_value, and for fields of
  /// other forks that this class does not know.
  explicit DataTransformer(const TransformationParameter& param, Phase phase);
  virtual ~DataTransformer() {}

  /// Seeds the generator of this transformer, if it draws at all: by random_seed, else by one draw
  /// of the thread's generator.
  void InitRand();

  /// One image into a blob of one item.
  void Transform(const Datum& datum, Blob<Dtype>* transformed_blob);
  /// Several, into as many items of a blob or fewer.
  void Transform(const vector<Datum>& datum_vector, Blob<Dtype>* transformed_blob);
#ifdef USE_OPENCV
  void Transform(const vector<cv::Mat>& mat_vector, Blob<Dtype>* transformed_blob);
  void Transform(const cv::Mat& cv_img, Blob<Dtype>* transformed_blob);
#endif
  /// The items of a blob, which is not changed, all with the same crop and mirror.
  void Transform(Blob<Dtype>* input_blob, Blob<Dtype>* transformed_blob);

  /// Transform in two halves, for callers with several threads: Draw in the order of the records,
  /// TransformTo in any, concurrently. `item_shape` is (1, channels, height, width) of the memory
  /// at `item`.
  ImageDraws Draw();
  void TransformTo(const Datum& datum, const ImageDraws& draws, const vector<int>& item_shape,
                   Dtype* item) const;
#ifdef USE_OPENCV
  /// Returns the crop, so that annotations can be moved accordingly.
  ImageCrop TransformTo(const cv::Mat& image, const ImageDraws& draws,
                        const vector<int>& item_shape, Dtype* item) const;
  /// Crops and mirrors an image of labels by its image's `draws`; values are not changed.
  void TransformLabelsTo(const cv::Mat& labels, const ImageDraws& draws,
                         const vector<int>& item_shape, Dtype* item) const;
#endif

  /// The shape of a transformed image: (1, channels, height, width); of several: their number
  /// first.
  vector<int> InferBlobShape(const Datum& datum);
  vector<int> InferBlobShape(const vector<Datum>& datum_vector);
#ifdef USE_OPENCV
  vector<int> InferBlobShape(const vector<cv::Mat>& mat_vector);
  vector<int> InferBlobShape(const cv::Mat& cv_img);
#endif

#ifdef USE_OPENCV
  // The SSD fork's functions on annotated images, with which its data layer augments them, in
  // this order: DistortImage, ExpandImage, CropImage, Transform. What is random in the first two is
  // drawn with the calling thread's generator. A Datum that is written has pixels, never a
  // compressed image. A box is made of fractions of an image; annotations that leave it, or do
  // not meet emit_constraint, are left out.

  /// Changes colours as distort_param says.
  void DistortImage(const Datum& datum, Datum* distort_datum);
  /// Puts the image into a larger one of mean_value as expand_param says, or leaves it as it is.
  void ExpandImage(const AnnotatedDatum& anno_datum, AnnotatedDatum* expanded_anno_datum);
  /// Puts the image somewhere into one whose sides are `expand_ratio` times as long, and gives
  /// that as a box of the image.
  void ExpandImage(const Datum& datum, const float expand_ratio, NormalizedBBox* expand_bbox,
                   Datum* expanded_datum);
  void ExpandImage(const cv::Mat& img, const float expand_ratio, NormalizedBBox* expand_bbox,
                   cv::Mat* expand_img);
  /// The part of the image in `bbox`, at least one pixel.
  void CropImage(const AnnotatedDatum& anno_datum, const NormalizedBBox& bbox,
                 AnnotatedDatum* cropped_anno_datum);
  void CropImage(const Datum& datum, const NormalizedBBox& bbox, Datum* crop_datum);
  void CropImage(const cv::Mat& img, const NormalizedBBox& bbox, cv::Mat* crop_img);

  /// Transform that tells, too, which part of the resized image it took and whether it mirrored
  /// it; for AnnotatedDatum, what becomes of its annotations.
  void Transform(const Datum& datum, Blob<Dtype>* transformed_blob, NormalizedBBox* crop_bbox,
                 bool* do_mirror);
  void Transform(const cv::Mat& cv_img, Blob<Dtype>* transformed_blob, NormalizedBBox* crop_bbox,
                 bool* do_mirror);
  void Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* transformed_blob,
                 google::protobuf::RepeatedPtrField<AnnotationGroup>* transformed_anno_group_all,
                 bool* do_mirror);
  void Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* transformed_blob,
                 google::protobuf::RepeatedPtrField<AnnotationGroup>* transformed_anno_group_all);
  void Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* transformed_blob,
                 vector<AnnotationGroup>* transformed_anno_vec, bool* do_mirror);
  void Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* transformed_blob,
                 vector<AnnotationGroup>* transformed_anno_vec);
  /// Adds the annotations as fractions of `crop_bbox`, a part of the image, or with `do_resize`
  /// of the one that resize_param makes of it; then mirrored.
  void TransformAnnotation(
      const AnnotatedDatum& anno_datum, const bool do_resize, const NormalizedBBox& crop_bbox,
      const bool do_mirror,
      google::protobuf::RepeatedPtrField<AnnotationGroup>* transformed_anno_group_all);

  /// Images of 8 bits again: x = y / scale + mean, rounded, of each item of a blob.
  void TransformInv(const Blob<Dtype>* blob, vector<cv::Mat>* cv_imgs);
  void TransformInv(const Dtype* data, cv::Mat* cv_img, const int height, const int width,
                    const int channels);

  /// The pixels of a record, decoded in the colours that force_color or force_gray asks for.
  cv::Mat ImageOf(const Datum& datum) const;
#endif

  /// The generator's state as text ("" if it draws nothing), for resumed runs.
  string RandomState() const;
  void SetRandomState(const string& state);

 protected:
  /// A draw from [0, n).
  virtual int Rand(int n);

  TransformationParameter param_;
  shared_ptr<Caffe::RNG> rng_;
  Phase phase_;
  Blob<Dtype> data_mean_;
  vector<Dtype> mean_values_;

 private:
  /// mirror(2), height(n) and width(n) give numbers in [0, n), called in this order.
  template <typename Mirror, typename Height, typename Width>
  ImageCrop CropOf(int height, int width, Mirror&& mirror, Height&& height_draw,
                   Width&& width_draw) const;
  ImageCrop DrawCrop(int height, int width);
  ImageCrop DrawnCrop(int height, int width, const ImageDraws& draws) const;

  /// Transform, which returns the crop.
  ImageCrop TransformWhole(const Datum& datum, Blob<Dtype>* blob);
#ifdef USE_OPENCV
  ImageCrop TransformWhole(const cv::Mat& image, Blob<Dtype>* blob);
#endif

  uint32_t RawDraw();
  void DrawResize(ImageDraws* draws);
  bool crops_at_random() const { return phase_ == TRAIN && crop_height_ > 0; }
  bool draws_interpolation() const { return param_.resize_param().interp_mode_size() > 1; }

  /// The shape for an original image; for one that has been resized.
  vector<int> InferImageShape(int channels, int height, int width) const;
  vector<int> CroppedShape(int channels, int height, int width) const;
  void CheckFit(int channels, int height, int width, const vector<int>& item_shape) const;
  void CheckSizes(int channels, int height, int width, const vector<int>& item_shape) const;
  void CheckChannels(int channels) const;
  /// mean_value of a channel.
  Dtype MeanOf(int channel) const {
    if (mean_values_.empty()) return 0;
    return mean_values_[mean_values_.size() == 1 ? 0 : channel];
  }
  /// Without `normalize` values are only copied.
  template <typename Value>
  void Write(const ImageView<Value>& view, const ImageCrop& crop, Dtype* item,
             bool normalize = true) const;

  /// Calls f(view) with the record's pixels, decoded and resized according to `draws`.
  template <typename Function>
  void WithImage(const Datum& datum, const ImageDraws& draws, Function&& f) const;
#ifdef USE_OPENCV
  cv::Mat Decode(const Datum& datum) const;
  cv::Mat Resized(const cv::Mat& image, const ImageDraws& draws) const;
  cv::Mat RandomlyResized(const cv::Mat& image, const ImageDraws& draws) const;
#endif

  int crop_height_ = 0, crop_width_ = 0;  // 0: not cropped
};

}  // namespace caffe

#endif  // CAFFE_DATA_TRANSFORMER_HPP_
