// DataTransformer's functions on annotated images.
#include "annotation_moves.hpp"
#include "caffe/data_transformer.hpp"

#ifdef USE_OPENCV

#include <opencv2/core.hpp>

#include "caffe/util/im_transforms.hpp"
#include "caffe/util/image.hpp"

namespace caffe {
namespace {

/// A record of an image, with what else `datum` says about it.
void SetPixels(const cv::Mat& image, const Datum& datum, Datum* result) {
  Datum with_pixels;
  CVMatToDatum(image, &with_pixels);
  if (datum.has_label()) with_pixels.set_label(datum.label());
  result->Swap(&with_pixels);
}

}  // namespace

template <typename Dtype>
void DataTransformer<Dtype>::DistortImage(const Datum& datum, Datum* distort_datum) {
  if (!param_.has_distort_param()) {
    distort_datum->CopyFrom(datum);
    return;
  }
  SetPixels(ApplyDistort(ImageOf(datum), param_.distort_param()), datum, distort_datum);
}

template <typename Dtype>
void DataTransformer<Dtype>::ExpandImage(const cv::Mat& img, const float expand_ratio,
                                         NormalizedBBox* expand_bbox, cv::Mat* expand_img) {
  const Expansion expansion = DrawExpansion(expand_ratio, img.rows, img.cols);
  *expand_bbox = BoxOfExpansion(expansion, img.rows, img.cols);
  const vector<float> mean(mean_values_.begin(), mean_values_.end());
  *expand_img = Expanded(img, expansion, mean);
}

template <typename Dtype>
void DataTransformer<Dtype>::ExpandImage(const Datum& datum, const float expand_ratio,
                                         NormalizedBBox* expand_bbox, Datum* expanded_datum) {
  cv::Mat expanded;
  ExpandImage(ImageOf(datum), expand_ratio, expand_bbox, &expanded);
  SetPixels(expanded, datum, expanded_datum);
}

template <typename Dtype>
void DataTransformer<Dtype>::ExpandImage(const AnnotatedDatum& anno_datum,
                                         AnnotatedDatum* expanded_anno_datum) {
  Expansion expansion;
  cv::Mat image;
  if (param_.has_expand_param()) {
    image = ImageOf(anno_datum.datum());
    expansion = DrawExpansion(param_.expand_param(), image.rows, image.cols);
  }
  if (expansion.height == image.rows && expansion.width == image.cols) {
    expanded_anno_datum->CopyFrom(anno_datum);
    return;
  }
  const vector<float> mean(mean_values_.begin(), mean_values_.end());
  AnnotatedDatum expanded;
  SetPixels(Expanded(image, expansion, mean), anno_datum.datum(), expanded.mutable_datum());
  if (anno_datum.has_type()) expanded.set_type(anno_datum.type());
  TransformAnnotation(anno_datum, /*do_resize=*/false,
                      BoxOfExpansion(expansion, image.rows, image.cols), /*do_mirror=*/false,
                      expanded.mutable_annotation_group());
  expanded_anno_datum->Swap(&expanded);
}

template <typename Dtype>
void DataTransformer<Dtype>::CropImage(const cv::Mat& img, const NormalizedBBox& bbox,
                                       cv::Mat* crop_img) {
  *crop_img = Patch(img, bbox).clone();
}

template <typename Dtype>
void DataTransformer<Dtype>::CropImage(const Datum& datum, const NormalizedBBox& bbox,
                                       Datum* crop_datum) {
  SetPixels(Patch(ImageOf(datum), bbox), datum, crop_datum);
}

template <typename Dtype>
void DataTransformer<Dtype>::CropImage(const AnnotatedDatum& anno_datum, const NormalizedBBox& bbox,
                                       AnnotatedDatum* cropped_anno_datum) {
  NormalizedBBox inside;
  ClipBBox(bbox, &inside);
  AnnotatedDatum cropped;
  CropImage(anno_datum.datum(), inside, cropped.mutable_datum());
  if (anno_datum.has_type()) cropped.set_type(anno_datum.type());
  TransformAnnotation(anno_datum, /*do_resize=*/false, inside, /*do_mirror=*/false,
                      cropped.mutable_annotation_group());
  cropped_anno_datum->Swap(&cropped);
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const Datum& datum, Blob<Dtype>* blob,
                                       NormalizedBBox* crop_bbox, bool* do_mirror) {
  const ImageCrop crop = TransformWhole(datum, blob);
  *crop_bbox = BoxOf(crop);
  *do_mirror = crop.mirror;
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const cv::Mat& image, Blob<Dtype>* blob,
                                       NormalizedBBox* crop_bbox, bool* do_mirror) {
  const ImageCrop crop = TransformWhole(image, blob);
  *crop_bbox = BoxOf(crop);
  *do_mirror = crop.mirror;
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* blob,
                                       AnnotationGroups* groups, bool* do_mirror) {
  const cv::Mat image = ImageOf(anno_datum.datum());
  NormalizedBBox crop_bbox;
  Transform(image, blob, &crop_bbox, do_mirror);
  groups->MergeFrom(Moved(anno_datum.annotation_group(), param_, image.rows, image.cols,
                          /*resized=*/true, crop_bbox, *do_mirror));
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* blob,
                                       AnnotationGroups* groups) {
  bool mirrored;
  Transform(anno_datum, blob, groups, &mirrored);
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* blob,
                                       vector<AnnotationGroup>* groups, bool* do_mirror) {
  AnnotationGroups moved;
  Transform(anno_datum, blob, &moved, do_mirror);
  groups->insert(groups->end(), moved.begin(), moved.end());
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const AnnotatedDatum& anno_datum, Blob<Dtype>* blob,
                                       vector<AnnotationGroup>* groups) {
  bool mirrored;
  Transform(anno_datum, blob, groups, &mirrored);
}

template <typename Dtype>
void DataTransformer<Dtype>::TransformAnnotation(const AnnotatedDatum& anno_datum,
                                                 const bool do_resize,
                                                 const NormalizedBBox& crop_bbox,
                                                 const bool do_mirror, AnnotationGroups* groups) {
  groups->MergeFrom(Moved(anno_datum.annotation_group(), param_, anno_datum.datum().height(),
                          anno_datum.datum().width(), do_resize, crop_bbox, do_mirror));
}

template <typename Dtype>
void DataTransformer<Dtype>::TransformInv(const Dtype* data, cv::Mat* cv_img, const int height,
                                          const int width, const int channels) {
  Require(param_.scale() != 0, Error::Field{"transform_param"},
          ": with scale 0 nothing is left of the image");
  const bool has_mean = param_.has_mean_file();
  if (has_mean) {
    Require(data_mean_.channels() == channels && data_mean_.height() == height &&
                data_mean_.width() == width,
            "the mean in ", param_.mean_file(), " has shape ", data_mean_.shape_string(),
            ", the image is ", channels, " x ", height, " x ", width,
            ": what it was cropped from is not known");
  }
  CheckChannels(channels);
  cv_img->create(height, width, CV_8UC(channels));
  const Dtype* const mean_data = has_mean ? data_mean_.cpu_data() : nullptr;
  const size_t plane = size_t(height) * width;
  for (int c = 0; c < channels; ++c) {
    const int target = param_.bgr2rgb() ? channels - 1 - c : c;
    for (size_t i = 0; i < plane; ++i) {
      const Dtype mean = mean_data ? mean_data[c * plane + i] : MeanOf(c);
      const Dtype value = data[c * plane + i] / Dtype(param_.scale()) + mean;
      uint8_t* const row = cv_img->template ptr<uint8_t>(static_cast<int>(i / width));
      row[i % width * channels + target] = cv::saturate_cast<uint8_t>(value);
    }
  }
}

template <typename Dtype>
void DataTransformer<Dtype>::TransformInv(const Blob<Dtype>* blob, vector<cv::Mat>* cv_imgs) {
  for (int i = 0; i < blob->num(); ++i) {
    cv_imgs->emplace_back();
    TransformInv(blob->cpu_data() + blob->offset(i), &cv_imgs->back(), blob->height(),
                 blob->width(), blob->channels());
  }
}

template class DataTransformer<float>;
template class DataTransformer<double>;

}  // namespace caffe

#endif  // USE_OPENCV
