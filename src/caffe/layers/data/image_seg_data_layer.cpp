#include "caffe/layers/image_seg_data_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#endif

#include <algorithm>
#include <cstdlib>

#include "caffe/core/error_context.hpp"
#include "caffe/data/crop_sides.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "data_fields.hpp"

namespace caffe {
namespace {

const bool image_seg_data_registered = OperationTable::Add(
    Operation("ImageSegData").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());
const bool image_seg_data_dealt_out = RecordShare::AddType("ImageSegData");

/// A number that a pixel of 8 bits can have.
int ByteLabel(const string& text) {
  const bool digits = !text.empty() && text.size() <= 3 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return isdigit(c); });
  const int label = digits ? std::atoi(text.c_str()) : -1;
  Require(label >= 0 && label <= 255, "'", text,
          "' is no label of an image: with label_type IMAGE that is a number from 0 to 255");
  return label;
}

}  // namespace

template <typename Dtype>
std::pair<string, string> ImageSegDataLayer<Dtype>::ParseLine(const string& line) const {
  const auto type = this->layer_param_.image_data_param().label_type();
  StringReader stream(line);
  string image, label, more;
  stream >> image;
  if (type != ImageDataParameter::NONE) {
    Require(stream >> label && !(stream >> more), "'", line, "' is not the path of an image and ",
            type == ImageDataParameter::PIXEL ? "the path of its labels (label_type PIXEL)"
                                              : "a label (label_type IMAGE)");
  }
  if (type == ImageDataParameter::IMAGE) ByteLabel(label);
  return {image, label};
}

#ifdef USE_OPENCV

/// An image and its labels, as large as the crop at least.
template <typename Dtype>
struct ImageSegDataLayer<Dtype>::Sample {
  cv::Mat image, labels;
  int height, width;  // before it was filled up
};

template <typename Dtype>
typename ImageSegDataLayer<Dtype>::Sample ImageSegDataLayer<Dtype>::Read(
    const std::pair<string, string>& line) const {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  Sample sample;
  sample.image = ReadListedImage(param.root_folder() + line.first, param.new_height(),
                                 param.new_width(), param.is_color());
  sample.height = sample.image.rows;
  sample.width = sample.image.cols;
  if (param.label_type() == ImageDataParameter::PIXEL) {
    sample.labels =
        ReadListedLabels(param.root_folder() + line.second, sample.image, param.new_height() > 0);
  } else {
    const int label = param.label_type() == ImageDataParameter::IMAGE ? ByteLabel(line.second)
                                                                      : param.ignore_label();
    sample.labels = cv::Mat(sample.image.size(), CV_8U, cv::Scalar(label));
  }
  const int below = std::max(crop_height_ - sample.height, 0);
  const int right = std::max(crop_width_ - sample.width, 0);
  if (below == 0 && right == 0) return sample;
  const auto& means = this->transform_param_.mean_value();
  cv::Scalar mean;
  for (int c = 0; c < sample.image.channels() && !means.empty(); ++c) {
    const int channel = this->transform_param_.bgr2rgb() ? 2 - c : c;
    mean[c] = means[std::min(channel, means.size() - 1)];
  }
  const auto fill_up = [&](const cv::Scalar& value, cv::Mat* image) {
    cv::Mat filled;
    cv::copyMakeBorder(*image, filled, 0, below, 0, right, cv::BORDER_CONSTANT, value);
    *image = filled;
  };
  fill_up(mean, &sample.image);
  fill_up(cv::Scalar(param.ignore_label()), &sample.labels);
  return sample;
}

template <typename Dtype>
void ImageSegDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                              const vector<Blob<Dtype>*>& top) {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const TransformationParameter& transform = this->transform_param_;
  const int batch_size = CheckedBatchSize("image_data_param", param.batch_size());
  Require(!param.source().empty(), Error::Field{"image_data_param"}, ": source is missing");
  Require(!transform.has_resize_param(), Error::Field{"transform_param"},
          ": ImageSegData does not know resize_param, which its labels would need ", "too",
          Error::Remedy{"give image_data_param: new_height and new_width"});
  CheckNewSize("image_data_param", param.new_height(), param.new_width());
  WarnOfOldTransformation(this->layer_param_, "image_data_param", param);
  Require(
      param.ignore_label() >= 0 && param.ignore_label() <= 255, Error::Field{"image_data_param"},
      ": ignore_label must be from 0 to 255, as labels of pixels are, got ", param.ignore_label());
  Require(!transform.has_mean_file(), Error::Field{"transform_param"},
          ": ImageSegData takes mean_value, not mean_file");
  const CropSides crop(transform);
  crop_height_ = crop.height;
  crop_width_ = crop.width;
  this->OpenList(param.source(), param.shuffle(), param.rand_skip());

  const auto& line = this->lines_[this->lines_id_];
  const Sample sample = Read(line);
  vector<int> shape, label_shape;
  WithFile(param.root_folder() + line.first, [&] {
    shape = this->data_transformer_->InferBlobShape(sample.image);
    label_shape = this->data_transformer_->InferBlobShape(sample.labels);
    // Refuses now, not in the first batch, whatever else resizes images but not their labels.
    Blob<Dtype> first_labels(label_shape);
    this->data_transformer_->TransformLabelsTo(sample.labels, ImageDraws(), label_shape,
                                               first_labels.mutable_cpu_data());
  });
  this->transformed_data_.Reshape(shape);
  shape[0] = label_shape[0] = batch_size;
  top[0]->Reshape(shape);
  top[1]->Reshape(label_shape);
  if (top.size() > 2) top[2]->Reshape({batch_size, 1, 1, 2});
  for (const auto& batch : this->prefetch_) {
    batch->data_.Reshape(shape);
    batch->label_.Reshape(label_shape);
    sizes_[batch.get()];
  }
  LOG_IF(INFO, Caffe::root_solver())
      << "output data size: " << top[0]->shape_string() << ", labels: " << top[1]->shape_string();
}

template <typename Dtype>
void ImageSegDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const auto items = this->TakeItems(static_cast<int>(param.batch_size()));
  const Sample first = Read(items[0].line);
  // Sizes may change from batch to batch.
  vector<int> shape, label_shape;
  WithFile(param.root_folder() + items[0].line.first, [&] {
    shape = this->data_transformer_->InferBlobShape(first.image);
    label_shape = this->data_transformer_->InferBlobShape(first.labels);
  });
  shape[0] = label_shape[0] = static_cast<int>(items.size());
  batch->data_.Reshape(shape);
  batch->label_.Reshape(label_shape);
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  Dtype* const labels = batch->label_.mutable_cpu_data();
  vector<Dtype>& sizes = sizes_.at(batch);
  sizes.resize(2 * items.size());
  const size_t item_count = batch->data_.count(1), label_count = batch->label_.count(1);
  this->DecodingTeam(param.threads()).ForEach(shape[0], [&](int i) {
    const Sample sample = i == 0 ? first : Read(items[i].line);
    WithFile(param.root_folder() + items[i].line.first, [&] {
      this->data_transformer_->TransformTo(sample.image, items[i].draws, shape,
                                           pixels + i * item_count);
      this->data_transformer_->TransformLabelsTo(sample.labels, items[i].draws, label_shape,
                                                 labels + i * label_count);
    });
    sizes[2 * i] = static_cast<Dtype>(std::min(sample.height, shape[2]));
    sizes[2 * i + 1] = static_cast<Dtype>(std::min(sample.width, shape[3]));
  });
}

#else

template <typename Dtype>
void ImageSegDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                              const vector<Blob<Dtype>*>&) {
  Fail("ImageSegData needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
}

template <typename Dtype>
void ImageSegDataLayer<Dtype>::load_batch(Batch<Dtype>*) {}

#endif  // USE_OPENCV

template <typename Dtype>
void ImageSegDataLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  BasePrefetchingDataLayer<Dtype>::Forward_cpu(bottom, top);
  if (top.size() < 3) return;
  const vector<Dtype>& sizes = sizes_.at(this->prefetch_current_);
  top[2]->Reshape({static_cast<int>(sizes.size() / 2), 1, 1, 2});
  std::copy(sizes.begin(), sizes.end(), top[2]->mutable_cpu_data());
}

INSTANTIATE_CLASS(ImageSegDataLayer);
REGISTER_LAYER_CLASS(ImageSegData);

}  // namespace caffe
