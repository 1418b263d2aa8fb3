#include "image_input.hpp"

#include <algorithm>

#ifdef USE_OPENCV
#include <opencv2/imgproc.hpp>
#endif

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"

namespace caffe {

std::vector<NamedBlob> InputsOf(Net<float>* net) {
  std::vector<NamedBlob> inputs;
  for (int i = 0; i < net->num_inputs(); ++i) {
    inputs.push_back({net->blob_names()[net->input_blob_indices()[i]], net->input_blobs()[i]});
  }
  return inputs;
}

void FillWith(const std::vector<float>& values, const NamedBlob& input) {
  Require(!values.empty() && input.blob->count() % values.size() == 0, Error::Field{"-constant"},
          " ", input.name, ": ", values.size(), " values do not fill a blob of ",
          input.blob->shape_string());
  float* data = input.blob->mutable_cpu_data();
  for (int i = 0; i < input.blob->count(); ++i) data[i] = values[i % values.size()];
}

ImageInput::ImageInput(const inference::ImagePreprocessing& preprocessing,
                       const std::vector<NamedBlob>& inputs)
    : preprocessing_(preprocessing) {
  for (const NamedBlob& input : inputs) {
    const auto constant = preprocessing.constants.find(input.name);
    if (constant != preprocessing.constants.end()) {
      FillWith(constant->second, input);
      continue;
    }
    Require(!images_ && (preprocessing.input.empty() || preprocessing.input == input.name),
            "the net has several inputs; give values for '", input.name, "' with -constant ",
            input.name, "=V,V,...");
    images_ = input.blob;
    Require(images_->num_axes() == 4, "input '", input.name, "' is ", images_->shape_string(),
            ", no images (N, C, H, W): give its values with -constant ", input.name, "=V,V,...");
  }
  Require(images_ != nullptr, "the net has no input that takes images");
  for (const auto& constant : preprocessing.constants) {
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const NamedBlob& input) {
      return input.name == constant.first;
    });
    Require(known, Error::Field{"-constant"}, ": the net has no input '", constant.first, "'");
  }
  MakeTransformer();
}

void ImageInput::MakeTransformer() {
  const int channels = images_->shape(1);
  height_ = images_->shape(2);
  width_ = images_->shape(3);
  if (preprocessing_.resize_height > 0) {
    height_ = preprocessing_.resize_height;
    width_ = preprocessing_.resize_width;
    Require(height_ >= images_->shape(2) && width_ >= images_->shape(3), Error::Field{"-resize"},
            " ", height_, "x", width_, " is smaller than the net's input, ", images_->shape(2), "x",
            images_->shape(3));
  }
  TransformationParameter param;
  if (!preprocessing_.engine_normalizes) {
    if (preprocessing_.HasMeanImage(channels)) {
      mean_image_ =
          preprocessing_.MiddleOfMeanImage(channels, images_->shape(2), images_->shape(3));
    } else {
      param.set_scale(preprocessing_.scale);
      for (const float value : preprocessing_.mean) param.add_mean_value(value);
    }
  }
  crop_ = height_ != images_->shape(2) || width_ != images_->shape(3);
  if (crop_) {
    param.set_crop_h(images_->shape(2));
    param.set_crop_w(images_->shape(3));
  }
  transformer_ = std::make_unique<DataTransformer<float>>(param, TEST);
  transformer_->InitRand();
}

void ImageInput::WriteValues(const Datum& datum, int item) {
  Require(mean_image_.empty() || (datum.height() == height_ && datum.width() == width_),
          "the mean image is ", height_, "x", width_, ", the record ", datum.height(), "x",
          datum.width());
  item_.Reshape(1, images_->shape(1), datum.height(), datum.width());
  if (crop_) item_.Reshape(1, images_->shape(1), images_->shape(2), images_->shape(3));
  transformer_->Transform(datum, &item_);
  Copy(item);
}

#ifdef USE_OPENCV
void ImageInput::Write(const cv::Mat& image, int item) {
  cv::Mat prepared = image;
  const int channels = images_->shape(1);
  Require(channels == 1 || channels == 3, "the input has ", channels,
          " channels: images have 1 or 3");
  if (prepared.channels() != channels) {
    cv::cvtColor(image, prepared, channels == 1 ? cv::COLOR_BGR2GRAY : cv::COLOR_GRAY2BGR);
  }
  if (preprocessing_.rgb && channels == 3) {
    cv::Mat reversed;  // `image` stays as it is
    cv::cvtColor(prepared, reversed, cv::COLOR_BGR2RGB);
    prepared = reversed;
  }
  const cv::Size size(width_, height_);
  if (prepared.size() != size) {
    limits::CheckImage(height_, width_, "the net's images");
    cv::resize(prepared, prepared, size);
  }
  item_.Reshape(1, channels, images_->shape(2), images_->shape(3));
  transformer_->Transform(prepared, &item_);
  Copy(item);
}
#endif

void ImageInput::Copy(int item) {
  Require(item >= 0 && item < items(), "image ", item, ": the net's input takes ", items());
  Require(item_.count() == images_->count(1), "the image has ", item_.count(),
          " values, the net's input ", images_->count(1), " for each");
  const float* from = item_.cpu_data();
  float* to = images_->mutable_cpu_data() + size_t(item) * images_->count(1);
  if (mean_image_.empty()) {
    std::copy_n(from, item_.count(), to);
  } else {
    for (int i = 0; i < item_.count(); ++i)
      to[i] = (from[i] - mean_image_[i]) * preprocessing_.scale;
  }
}

}  // namespace caffe
