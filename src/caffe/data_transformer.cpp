#include "caffe/data_transformer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#endif

#include "caffe/util/image.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

// NVCaffe's and SSD's fields that change pictures in ways this class does not.
void RefuseUnsupported(const TransformationParameter& p) {
  const auto refuse = [](bool given, const char* field) {
    Require(!given, "transform_param: ", field, " is not available: leave it out");
  };
  refuse(p.img_rand_resize_lower() || p.img_rand_resize_upper(), "img_rand_resize_lower/upper");
  refuse(p.rand_resize_ratio_lower() != 0 || p.rand_resize_ratio_upper() != 0,
         "rand_resize_ratio_lower/upper");
  refuse(p.vertical_stretch_lower() != 1 || p.vertical_stretch_upper() != 1,
         "vertical_stretch_lower/upper");
  refuse(p.horizontal_stretch_lower() != 1 || p.horizontal_stretch_upper() != 1,
         "horizontal_stretch_lower/upper");
}

}  // namespace

template <typename Dtype>
DataTransformer<Dtype>::DataTransformer(const TransformationParameter& param, Phase phase)
    : param_(param), phase_(phase) {
  RefuseUnsupported(param_);
  Require(!param_.has_mean_file() || param_.mean_value_size() == 0,
          "transform_param: give mean_file or mean_value, not both");
  if (param_.has_mean_file()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Loading mean file from: " << param_.mean_file();
    BlobProto proto;
    ReadProtoFromBinaryFileOrDie(param_.mean_file(), &proto);
    data_mean_.FromProto(proto);
  }
  mean_values_.assign(param_.mean_value().begin(), param_.mean_value().end());
}

template <typename Dtype>
void DataTransformer<Dtype>::InitRand() {
  const bool draws = param_.mirror() || (phase_ == TRAIN && param_.crop_size());
  rng_.reset(draws ? new Caffe::RNG(caffe_rng_rand()) : nullptr);
}

template <typename Dtype>
int DataTransformer<Dtype>::Rand(int n) {
  CHECK(rng_) << "InitRand comes first";
  CHECK_GT(n, 0);
  return (*static_cast<rng_t*>(rng_->generator()))() % n;
}

template <typename Dtype>
string DataTransformer<Dtype>::RandomState() const {
  return rng_ ? RandomStateOf(*static_cast<rng_t*>(rng_->generator())) : string();
}

template <typename Dtype>
void DataTransformer<Dtype>::SetRandomState(const string& state) {
  Require(state.empty() == !rng_,
          "the stored state does not fit transform_param: one draws random ",
          "numbers, the other does not");
  if (rng_) SetRandomStateOf(state, static_cast<rng_t*>(rng_->generator()));
}

template <typename Dtype>
typename DataTransformer<Dtype>::Cut DataTransformer<Dtype>::DrawCut(int height, int width) {
  Cut cut;
  cut.mirror = param_.mirror() && Rand(2);
  const int crop = param_.crop_size();
  cut.height = crop ? crop : height;
  cut.width = crop ? crop : width;
  if (crop && phase_ == TRAIN) {
    cut.h_offset = Rand(height - crop + 1);
    cut.w_offset = Rand(width - crop + 1);
  } else if (crop) {
    cut.h_offset = (height - crop) / 2;
    cut.w_offset = (width - crop) / 2;
  }
  return cut;
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::CroppedShape(int channels, int height, int width) const {
  const int crop = param_.crop_size();
  Require(channels > 0 && height > 0 && width > 0, "a picture of ", channels, " x ", height, " x ",
          width, " has nothing in it");
  Require(height >= crop && width >= crop, "transform_param: crop_size ", crop,
          " is larger than the picture of ", height, " x ", width);
  return {1, channels, crop ? crop : height, crop ? crop : width};
}

template <typename Dtype>
void DataTransformer<Dtype>::CheckSizes(int channels, int height, int width,
                                        const Blob<Dtype>& top) const {
  const vector<int> shape = CroppedShape(channels, height, width);
  Require(top.channels() == shape[1] && top.height() == shape[2] && top.width() == shape[3] &&
              top.num() >= 1,
          "a picture of ", channels, " x ", height, " x ", width, " does not fit a blob of shape ",
          top.shape_string(), ": all pictures of a source have one shape, or are cropped to one");
  if (param_.has_mean_file()) {
    Require(data_mean_.channels() == channels && data_mean_.height() == height &&
                data_mean_.width() == width,
            "the mean in ", param_.mean_file(), " has shape ", data_mean_.shape_string(),
            ", the picture is ", channels, " x ", height, " x ", width);
  }
  Require(mean_values_.size() <= 1 || static_cast<int>(mean_values_.size()) == channels,
          "transform_param: mean_value is given ", mean_values_.size(), " times for ", channels,
          " channels: give it once, or once per channel");
}

template <typename Dtype>
template <typename Value>
void DataTransformer<Dtype>::Write(int channels, int height, int width, const Cut& cut,
                                   Value&& value, Dtype* top) {
  const Dtype scale = param_.scale();
  const Dtype* mean = param_.has_mean_file() ? data_mean_.cpu_data() : nullptr;
  for (int c = 0; c < channels; ++c) {
    const Dtype channel_mean =
        mean_values_.empty() ? Dtype(0) : mean_values_[mean_values_.size() == 1 ? 0 : c];
    for (int h = 0; h < cut.height; ++h) {
      const int source_h = cut.h_offset + h;
      Dtype* row = top + (size_t(c) * cut.height + h) * cut.width;
      const Dtype* mean_row =
          mean ? mean + (size_t(c) * height + source_h) * width + cut.w_offset : nullptr;
      for (int w = 0; w < cut.width; ++w) {
        const Dtype x = value(c, source_h, cut.w_offset + w);
        const Dtype y = (x - (mean_row ? mean_row[w] : channel_mean)) * scale;
        row[cut.mirror ? cut.width - 1 - w : w] = y;
      }
    }
  }
}

namespace {

#ifdef USE_OPENCV
bool NeedsDecoding(const Datum& datum) { return datum.encoded(); }

cv::Mat Decode(const Datum& datum, const TransformationParameter& param) {
  Require(!(param.force_color() && param.force_gray()),
          "transform_param: force_color and force_gray exclude each other");
  if (param.force_color() || param.force_gray())
    return DecodeDatumToCVMat(datum, param.force_color());
  return DecodeDatumToCVMatNative(datum);
}
#else
bool NeedsDecoding(const Datum& datum) {
  Require(!datum.encoded(),
          "the record is a compressed picture and this libcaffe was built without ",
          "OpenCV: build with USE_OPENCV=ON");
  return false;
}
#endif

}  // namespace

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const Datum& datum, Blob<Dtype>* blob) {
  if (NeedsDecoding(datum)) {
#ifdef USE_OPENCV
    Transform(Decode(datum, param_), blob);
#endif
    return;
  }
  Require(!param_.force_color() && !param_.force_gray(),
          "transform_param: force_color and force_gray are for encoded records only");
  const int channels = datum.channels(), height = datum.height(), width = datum.width();
  CheckSizes(channels, height, width, *blob);
  const size_t count = size_t(channels) * height * width;
  const bool bytes = !datum.data().empty();
  Require((bytes ? datum.data().size() : datum.float_data_size()) == count, "the record has ",
          bytes ? datum.data().size() : datum.float_data_size(), " values for a picture of ",
          channels, " x ", height, " x ", width);
  const Cut cut = DrawCut(height, width);
  Dtype* top = blob->mutable_cpu_data();
  if (bytes) {
    const uint8_t* data = reinterpret_cast<const uint8_t*>(datum.data().data());
    Write(
        channels, height, width, cut,
        [=](int c, int h, int w) { return Dtype(data[(size_t(c) * height + h) * width + w]); },
        top);
  } else {
    const float* data = datum.float_data().data();
    Write(
        channels, height, width, cut,
        [=](int c, int h, int w) { return Dtype(data[(size_t(c) * height + h) * width + w]); },
        top);
  }
}

namespace {

/// Calls f(item number, blob of that item of `all`) for `count` items.
template <typename Dtype, typename Function>
void ForEachItem(int count, Blob<Dtype>* all, Function&& f) {
  Require(count > 0, "there is no picture to transform");
  Require(count <= all->num(), count, " pictures do not fit a blob of shape ", all->shape_string());
  Blob<Dtype> item(1, all->channels(), all->height(), all->width());
  for (int i = 0; i < count; ++i) {
    item.set_cpu_data(all->mutable_cpu_data() + all->offset(i));
    f(i, &item);
  }
}

}  // namespace

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const vector<Datum>& datums, Blob<Dtype>* blob) {
  ForEachItem(datums.size(), blob, [&](int i, Blob<Dtype>* item) { Transform(datums[i], item); });
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(Blob<Dtype>* input, Blob<Dtype>* blob) {
  if (blob->count() == 0) {
    vector<int> shape = CroppedShape(input->channels(), input->height(), input->width());
    shape[0] = input->num();
    blob->Reshape(shape);
  }
  const int height = input->height(), width = input->width();
  CheckSizes(input->channels(), height, width, *blob);
  const Dtype* data = input->cpu_data();
  // One cut for all items, as in Caffe.
  const Cut cut = DrawCut(height, width);
  for (int n = 0; n < input->num(); ++n) {
    const Dtype* item = data + input->offset(n);
    Write(
        input->channels(), height, width, cut,
        [=](int c, int h, int w) { return item[(size_t(c) * height + h) * width + w]; },
        blob->mutable_cpu_data() + blob->offset(n));
  }
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const Datum& datum) {
  if (NeedsDecoding(datum)) {
#ifdef USE_OPENCV
    return InferBlobShape(Decode(datum, param_));
#endif
  }
  return CroppedShape(datum.channels(), datum.height(), datum.width());
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const vector<Datum>& datums) {
  Require(!datums.empty(), "there is no picture to take the shape from");
  vector<int> shape = InferBlobShape(datums[0]);
  shape[0] = static_cast<int>(datums.size());
  return shape;
}

#ifdef USE_OPENCV

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const cv::Mat& image, Blob<Dtype>* blob) {
  Require(image.depth() == CV_8U, "pictures have 8 bits per channel");
  const int channels = image.channels(), height = image.rows, width = image.cols;
  CheckSizes(channels, height, width, *blob);
  const Cut cut = DrawCut(height, width);
  Write(
      channels, height, width, cut,
      [&image, channels](int c, int h, int w) {
        return Dtype(image.ptr<uint8_t>(h)[w * channels + c]);
      },
      blob->mutable_cpu_data());
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const vector<cv::Mat>& images, Blob<Dtype>* blob) {
  ForEachItem(images.size(), blob, [&](int i, Blob<Dtype>* item) { Transform(images[i], item); });
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const cv::Mat& image) {
  return CroppedShape(image.channels(), image.rows, image.cols);
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const vector<cv::Mat>& images) {
  Require(!images.empty(), "there is no picture to take the shape from");
  vector<int> shape = InferBlobShape(images[0]);
  shape[0] = static_cast<int>(images.size());
  return shape;
}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(DataTransformer);

}  // namespace caffe
