#include "caffe/data_transformer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <algorithm>
#include <limits>

#include "caffe/core/limits.hpp"
#include "caffe/data/crop_sides.hpp"
#include "caffe/kernels/pixels.hpp"
#include "caffe/util/im_transforms.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

/// NVCaffe's fields that change the size of an image at random.
bool Resizes(const TransformationParameter& p) {
  return p.img_rand_resize_upper() > 0 || p.rand_resize_ratio_upper() > 0 ||
         p.vertical_stretch_lower() != 1 || p.vertical_stretch_upper() != 1 ||
         p.horizontal_stretch_lower() != 1 || p.horizontal_stretch_upper() != 1;
}

void Refuse(bool given, const char* field) {
  Require(!given, Error::Field{"transform_param"}, ": this layer does not know ", field,
          Error::Remedy{"leave it out"});
}

// A field that would change images and is not known here must not be passed over.
void RefuseUnknown(const TransformationParameter& p) {
  Refuse(p.has_noise_param(), "noise_param");
  Refuse(p.has_random_resize_param(), "random_resize_param");
  Refuse(p.has_random_aspect_ratio_param(), "random_aspect_ratio_param");
  Refuse(p.flow(), "flow");
  Refuse(p.fix_crop() || p.more_fix_crop(), "fix_crop");
  Refuse(p.multi_scale(), "multi_scale");
  Refuse(p.is_flow(), "is_flow");
  Refuse(p.forward_packing() != NCHW, "forward_packing NHWC");
}

/// Whether images change their size before they are cropped.
bool ChangesSize(const TransformationParameter& p) { return Resizes(p) || p.has_resize_param(); }

template <typename Number>
void CheckRange(Number lower, Number upper, const char* field) {
  Require(lower <= upper && lower >= 0, Error::Field{"transform_param"}, ": ", field, "_lower ",
          lower, " and ", field, "_upper ", upper, " are no range");
}

void CheckRandomResize(const TransformationParameter& p) {
  CheckRange(p.img_rand_resize_lower(), p.img_rand_resize_upper(), "img_rand_resize");
  CheckRange(p.rand_resize_ratio_lower(), p.rand_resize_ratio_upper(), "rand_resize_ratio");
  CheckRange(p.vertical_stretch_lower(), p.vertical_stretch_upper(), "vertical_stretch");
  CheckRange(p.horizontal_stretch_lower(), p.horizontal_stretch_upper(), "horizontal_stretch");
  if (!Resizes(p)) return;
  Require(!p.has_mean_file(), Error::Field{"transform_param"},
          ": random resizing changes the size that mean_file has: ", "use mean_value");
#ifndef USE_OPENCV
  Fail(Error::Field{"transform_param"}, ": random resizing needs OpenCV",
       Error::Remedy{"build with USE_OPENCV=ON"});
#endif
}

void CheckAugmentation(const TransformationParameter& p) {
#ifdef USE_OPENCV
  if (p.has_resize_param()) CheckResize(p.resize_param());
  if (p.has_distort_param()) CheckDistortion(p.distort_param());
  if (p.has_expand_param()) {
    CheckExpansion(p.expand_param());
    Require(!p.has_mean_file(), Error::Field{"transform_param: expand_param"},
            " fills frames with mean_value, it cannot use mean_file");
  }
#else
  Require(!p.has_resize_param(), Error::Field{"transform_param: resize_param"}, " needs OpenCV",
          Error::Remedy{"build with USE_OPENCV=ON"});
#endif
}

}  // namespace

void RefuseAugmentation(const TransformationParameter& p) {
  Refuse(p.has_distort_param(), "distort_param");
  Refuse(p.has_expand_param(), "expand_param");
  Refuse(p.has_emit_constraint(), "emit_constraint");
}

template <typename Dtype>
DataTransformer<Dtype>::DataTransformer(const TransformationParameter& param, Phase phase)
    : param_(param), phase_(phase) {
  RefuseUnknown(param_);
  CheckRandomResize(param_);
  CheckAugmentation(param_);
  const CropSides crop(param_);
  crop_height_ = crop.height;
  crop_width_ = crop.width;
  Require((crop_height_ > 0) == (crop_width_ > 0), Error::Field{"transform_param: crop_h"},
          " and crop_w are given together, or crop_size for both");
  Require(crop_height_ > 0 || !Resizes(param_), Error::Field{"transform_param"},
          ": random resizing needs crop_size, or the images of a ", "batch would differ in size");
  Require(!(param_.force_color() && param_.force_gray()),
          Error::Field{"transform_param: force_color"}, " and force_gray exclude each other");
  Require(!param_.has_mean_file() || param_.mean_value_size() == 0, Error::Field{"transform_param"},
          Error::Remedy{"give mean_file or mean_value, not both"});
  if (param_.has_mean_file()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Loading mean file from: " << param_.mean_file();
    BlobProto proto;
    ReadProtoFromBinaryFileOrDie(param_.mean_file(), &proto);
    data_mean_.FromProto(proto);
    data_mean_.cpu_data();
  }
  mean_values_.assign(param_.mean_value().begin(), param_.mean_value().end());
}

template <typename Dtype>
void DataTransformer<Dtype>::InitRand() {
  rng_.reset();
  if (!param_.mirror() && !crops_at_random() && !Resizes(param_) && !draws_interpolation()) return;
  const bool seeded = param_.random_seed() >= 0;
  rng_.reset(
      new Caffe::RNG(seeded ? static_cast<unsigned>(param_.random_seed()) : caffe_rng_rand()));
}

template <typename Dtype>
uint32_t DataTransformer<Dtype>::RawDraw() {
  CHECK(rng_) << "InitRand comes first";
  return (*static_cast<rng_t*>(rng_->generator()))();
}

template <typename Dtype>
int DataTransformer<Dtype>::Rand(int n) {
  CHECK_GT(n, 0);
  return static_cast<int>(RawDraw() % n);
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
template <typename Mirror, typename Height, typename Width>
ImageCrop DataTransformer<Dtype>::CropOf(int height, int width, Mirror&& mirror,
                                         Height&& height_draw, Width&& width_draw) const {
  ImageCrop crop;
  crop.mirror = param_.mirror() && mirror(2);
  crop.height = crop_height_ ? crop_height_ : height;
  crop.width = crop_width_ ? crop_width_ : width;
  crop.image_height = height;
  crop.image_width = width;
  if (crops_at_random()) {
    crop.h_offset = height_draw(height - crop_height_ + 1);
    crop.w_offset = width_draw(width - crop_width_ + 1);
  } else {
    crop.h_offset = (height - crop.height) / 2;
    crop.w_offset = (width - crop.width) / 2;
  }
  return crop;
}

template <typename Dtype>
ImageCrop DataTransformer<Dtype>::DrawCrop(int height, int width) {
  const auto draw = [this](int n) { return Rand(n); };
  return CropOf(height, width, draw, draw, draw);
}

template <typename Dtype>
ImageCrop DataTransformer<Dtype>::DrawnCrop(int height, int width, const ImageDraws& draws) const {
  const auto among = [](uint32_t draw) {
    return [draw](int n) { return static_cast<int>(draw % static_cast<uint32_t>(n)); };
  };
  return CropOf(height, width, among(draws.mirror), among(draws.height), among(draws.width));
}

template <typename Dtype>
void DataTransformer<Dtype>::DrawResize(ImageDraws* draws) {
#ifdef USE_OPENCV
  const uint32_t mode = draws_interpolation() ? RawDraw() : 0;
  draws->interpolation = DrawnInterpolation(param_.resize_param(), mode);
#endif
  if (!Resizes(param_)) return;
  for (uint32_t* draw :
       {&draws->short_side, &draws->ratio, &draws->longer, &draws->vertical, &draws->horizontal}) {
    *draw = RawDraw();
  }
}

template <typename Dtype>
ImageDraws DataTransformer<Dtype>::Draw() {
  ImageDraws draws;
  DrawResize(&draws);
  if (param_.mirror()) draws.mirror = RawDraw();
  if (crops_at_random()) {
    draws.height = RawDraw();
    draws.width = RawDraw();
  }
  return draws;
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::CroppedShape(int channels, int height, int width) const {
  Require(channels > 0 && height > 0 && width > 0, "an image of ", channels, " x ", height, " x ",
          width, " has nothing in it");
  if (Resizes(param_)) return {1, channels, crop_height_, crop_width_};  // made large enough
  const auto cropped = [&](int side, int crop) {
    Require(side >= crop, Error::Field{"transform_param: crop_size"}, " ", crop,
            " is larger than the image of ", height, " x ", width);
    return crop ? crop : side;
  };
  return {1, channels, cropped(height, crop_height_), cropped(width, crop_width_)};
}

template <typename Dtype>
void DataTransformer<Dtype>::CheckFit(int channels, int height, int width,
                                      const vector<int>& item_shape) const {
  vector<int> shape = CroppedShape(channels, height, width);
  const bool fits = item_shape.size() == 4 && item_shape[0] >= 1 &&
                    std::equal(shape.begin() + 1, shape.end(), item_shape.begin() + 1);
  Require(fits, "an image of ", channels, " x ", height, " x ", width,
          " does not fit a blob of shape ", ShapeString(item_shape),
          ": all images of a source have one shape, or are cropped to one");
}

template <typename Dtype>
void DataTransformer<Dtype>::CheckSizes(int channels, int height, int width,
                                        const vector<int>& item_shape) const {
  CheckFit(channels, height, width, item_shape);
  if (param_.has_mean_file()) {
    Require(data_mean_.channels() == channels && data_mean_.height() == height &&
                data_mean_.width() == width,
            Error::Field{"transform_param: mean_file"}, " is ", param_.mean_file(),
            ", a mean of shape ", data_mean_.shape_string(), ", and the image is ", channels, " x ",
            height, " x ", width);
  }
  CheckChannels(channels);
}

template <typename Dtype>
void DataTransformer<Dtype>::CheckChannels(int channels) const {
  Require(mean_values_.size() <= 1 || static_cast<int>(mean_values_.size()) == channels,
          Error::Field{"transform_param: mean_value"}, " is given ", mean_values_.size(),
          " times for ", channels, " channels", Error::Remedy{"give it once, or once per channel"});
  Require(!param_.bgr2rgb() || channels == 3, Error::Field{"transform_param: bgr2rgb"},
          " is for images of 3 channels, this one has ", channels);
}

namespace {

/// out[i] = (in[i * step] - mean) * scale, mean being mean_row[i] or one value.
template <typename Value, typename Dtype>
void TransformRow(const Value* in, size_t step, int count, const Dtype* mean_row, Dtype mean,
                  Dtype scale, Dtype* out) {
  for (int i = 0; i < count; ++i) {
    out[i] = (Dtype(in[i * step]) - (mean_row ? mean_row[i] : mean)) * scale;
  }
}
template <typename Dtype>
void TransformRow(const uint8_t* in, size_t step, int count, const Dtype* mean_row, Dtype mean,
                  Dtype scale, Dtype* out) {
  kernels::NormalizePixels(count, in, step, mean_row, mean, scale, out);
}

}  // namespace

template <typename Dtype>
template <typename Value>
void DataTransformer<Dtype>::Write(const ImageView<Value>& view, const ImageCrop& crop, Dtype* item,
                                   bool normalize) const {
  const Dtype scale = normalize ? param_.scale() : Dtype(1);
  const Dtype* mean_data = normalize && param_.has_mean_file() ? data_mean_.cpu_data() : nullptr;
  for (int c = 0; c < view.channels; ++c) {
    const Dtype mean = normalize ? MeanOf(c) : Dtype(0);
    const int source_c = normalize && param_.bgr2rgb() ? 2 - c : c;
    for (int h = 0; h < crop.height; ++h, item += crop.width) {
      const size_t source_h = crop.h_offset + h;
      const Value* in = view.data + source_c * view.channel_step + source_h * view.row_step +
                        crop.w_offset * view.step;
      const Dtype* mean_row =
          mean_data ? mean_data + (c * size_t(view.height) + source_h) * view.width + crop.w_offset
                    : nullptr;
      TransformRow(in, view.step, crop.width, mean_row, mean, scale, item);
      if (crop.mirror) std::reverse(item, item + crop.width);
    }
  }
}

#ifdef USE_OPENCV

namespace {

ImageView<uint8_t> ViewOf(const cv::Mat& image) {
  Require(image.depth() == CV_8U, "images have 8 bits per channel");
  const size_t channels = image.channels();
  return {image.ptr<uint8_t>(0),
          static_cast<int>(channels),
          image.rows,
          image.cols,
          1,
          image.step[0],
          channels};
}

cv::Mat MatOf(const ImageView<uint8_t>& view) {
  Require(view.channels <= CV_CN_MAX, "images have up to ", CV_CN_MAX, " channels, this one has ",
          view.channels);
  cv::Mat image(view.height, view.width, CV_8UC(view.channels));
  for (int h = 0; h < view.height; ++h) {
    uint8_t* row = image.ptr<uint8_t>(h);
    for (int w = 0; w < view.width; ++w) {
      for (int c = 0; c < view.channels; ++c) {
        *row++ = view.data[c * view.channel_step + h * view.row_step + w];
      }
    }
  }
  return image;
}

/// A number in [lower, upper] from 32 random bits.
double Between(double lower, double upper, uint32_t draw) {
  return lower + (upper - lower) * (draw / 4294967295.0);
}

}  // namespace

template <typename Dtype>
cv::Mat DataTransformer<Dtype>::Decode(const Datum& datum) const {
  if (param_.force_color() || param_.force_gray()) {
    return DecodeDatumToCVMat(datum, param_.force_color());
  }
  const cv::Mat image = DecodeDatumToCVMatNative(datum);
  Require(image.depth() == CV_8U, Error::Field{"transform_param"}, ": the encoded image has ",
          8 * image.elemSize1(), " bits per channel, not 8",
          Error::Remedy{"give force_color: true or force_gray: true, which read it in 8 bits"});
  Require(mean_values_.size() != 3 || image.channels() == 3,
          Error::Field{"transform_param: mean_value"},
          " is given 3 times and the encoded image has ", image.channels(), " channels",
          Error::Remedy{"give force_color: true, which makes 3 of them, or another mean_value"});
  return image;
}

template <typename Dtype>
cv::Mat DataTransformer<Dtype>::ImageOf(const Datum& datum) const {
  if (datum.encoded()) return Decode(datum);
  const int height = datum.height(), width = datum.width(), channels = datum.channels();
  Require(height > 0 && width > 0 && channels > 0, "the record says that it is an image of ",
          channels, " x ", height, " x ", width);
  const size_t plane = size_t(height) * width;
  Require(datum.data().size() % plane == 0 && datum.data().size() / plane == size_t(channels),
          "the record has ", datum.data().size(), " bytes for an image of ", channels, " x ",
          height, " x ", width);
  const uint8_t* data = reinterpret_cast<const uint8_t*>(datum.data().data());
  return MatOf(ImageView<uint8_t>::Planar(data, channels, height, width));
}

template <typename Dtype>
cv::Mat DataTransformer<Dtype>::Resized(const cv::Mat& image, const ImageDraws& draws) const {
  const cv::Mat resized = param_.has_resize_param()
                              ? caffe::Resized(image, param_.resize_param(), draws.interpolation)
                              : image;
  return Resizes(param_) ? RandomlyResized(resized, draws) : resized;
}

// The shorter side first, then the longer one as a multiple of it, then each side's stretch.
template <typename Dtype>
cv::Mat DataTransformer<Dtype>::RandomlyResized(const cv::Mat& image,
                                                const ImageDraws& draws) const {
  double height = image.rows, width = image.cols;
  if (param_.img_rand_resize_upper() > 0) {
    const uint32_t lower = std::max(1u, param_.img_rand_resize_lower());
    const double side = lower + draws.short_side % (param_.img_rand_resize_upper() - lower + 1);
    const double factor = side / std::min(height, width);
    height *= factor;
    width *= factor;
  }
  if (param_.rand_resize_ratio_upper() > 0) {
    const double ratio =
        Between(param_.rand_resize_ratio_lower(), param_.rand_resize_ratio_upper(), draws.ratio);
    const bool upright = height > width || (height == width && draws.longer % 2);
    (upright ? height : width) = (upright ? width : height) * ratio;
  }
  height *=
      Between(param_.vertical_stretch_lower(), param_.vertical_stretch_upper(), draws.vertical);
  width *= Between(param_.horizontal_stretch_lower(), param_.horizontal_stretch_upper(),
                   draws.horizontal);
  const auto limited = [this](double side, int original, int crop) {
    if (!param_.allow_upscale()) side = std::min<double>(side, original);
    return std::max(cvRound(std::min(side, 32767.0)), crop);
  };
  const cv::Size size(limited(width, image.cols, crop_width_),
                      limited(height, image.rows, crop_height_));
  if (size == image.size()) return image;
  limits::CheckImage(size.height, size.width, "transform_param");
  const bool down = size.width <= image.cols && size.height <= image.rows;
  constexpr int kAlgorithms[] = {cv::INTER_NEAREST, cv::INTER_LINEAR, cv::INTER_CUBIC,
                                 cv::INTER_AREA};
  cv::Mat resized;
  cv::resize(image, resized, size, 0, 0,
             kAlgorithms[down ? param_.interpolation_algo_down() : param_.interpolation_algo_up()]);
  return resized;
}

#endif  // USE_OPENCV

template <typename Dtype>
template <typename Function>
void DataTransformer<Dtype>::WithImage(const Datum& datum, const ImageDraws& draws,
                                       Function&& f) const {
#ifdef USE_OPENCV
  if (datum.encoded()) {
    return f(ViewOf(Resized(Decode(datum), draws)));
  }
#endif
  Require(!datum.encoded(), "the record is a compressed image and this libcaffe was built without ",
          "OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
  if (param_.force_color() || param_.force_gray()) {
    LOG_FIRST_N(ERROR, 1) << "force_color and force_gray only for encoded datum";
  }
  const int channels = datum.channels(), height = datum.height(), width = datum.width();
  Require(channels > 0 && height > 0 && width > 0, "the record says that it is an image of ",
          channels, " x ", height, " x ", width);
  const bool bytes = !datum.data().empty();
  const size_t found = bytes ? datum.data().size() : datum.float_data_size();
  // Compared by division: the product of three extents may be too large for any integer.
  const size_t plane = size_t(height) * width;
  Require(found % plane == 0 && found / plane == size_t(channels), "the record has ", found,
          " values for an image of ", channels, " x ", height, " x ", width);
  if (!bytes) {
    Require(!ChangesSize(param_), Error::Field{"transform_param"},
            ": resizing is for images of bytes; the ", "record has float_data");
    return f(ImageView<float>::Planar(datum.float_data().data(), channels, height, width));
  }
  const uint8_t* data = reinterpret_cast<const uint8_t*>(datum.data().data());
  const auto view = ImageView<uint8_t>::Planar(data, channels, height, width);
#ifdef USE_OPENCV
  if (ChangesSize(param_)) return f(ViewOf(Resized(MatOf(view), draws)));
#endif
  (void)draws;
  f(view);
}

template <typename Dtype>
void DataTransformer<Dtype>::TransformTo(const Datum& datum, const ImageDraws& draws,
                                         const vector<int>& item_shape, Dtype* item) const {
  WithImage(datum, draws, [&](const auto& view) {
    CheckSizes(view.channels, view.height, view.width, item_shape);
    Write(view, DrawnCrop(view.height, view.width, draws), item);
  });
}

template <typename Dtype>
ImageCrop DataTransformer<Dtype>::TransformWhole(const Datum& datum, Blob<Dtype>* blob) {
  ImageDraws draws;
  DrawResize(&draws);
  ImageCrop crop;
  WithImage(datum, draws, [&](const auto& view) {
    CheckSizes(view.channels, view.height, view.width, blob->shape());
    crop = DrawCrop(view.height, view.width);
    Write(view, crop, blob->mutable_cpu_data());
  });
  return crop;
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const Datum& datum, Blob<Dtype>* blob) {
  TransformWhole(datum, blob);
}

namespace {

/// Calls f(item number, blob of that item of `all`) for `count` items.
template <typename Dtype, typename Function>
void ForEachItem(int count, Blob<Dtype>* all, Function&& f) {
  Require(count > 0, "there is no image to transform");
  Require(count <= all->num(), count, " images do not fit a blob of shape ", all->shape_string());
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
  Require(!ChangesSize(param_), Error::Field{"transform_param"},
          ": resizing is for images, not for blobs");
  const int channels = input->channels(), height = input->height(), width = input->width();
  if (blob->count() == 0) {
    vector<int> shape = CroppedShape(channels, height, width);
    shape[0] = input->num();
    blob->Reshape(shape);
  }
  CheckSizes(channels, height, width, blob->shape());
  Require(input->num() <= blob->num(), input->num(), " images do not fit a blob of shape ",
          blob->shape_string());
  const ImageCrop crop = DrawCrop(height, width);
  const Dtype* data = input->cpu_data();
  for (int n = 0; n < input->num(); ++n) {
    Write(ImageView<Dtype>::Planar(data + input->offset(n), channels, height, width), crop,
          blob->mutable_cpu_data() + blob->offset(n));
  }
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferImageShape(int channels, int height, int width) const {
#ifdef USE_OPENCV
  if (param_.has_resize_param() && height > 0 && width > 0) {
    InferNewSize(param_.resize_param(), width, height, &width, &height);
  }
#endif
  return CroppedShape(channels, height, width);
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const Datum& datum) {
#ifdef USE_OPENCV
  if (datum.encoded()) return InferBlobShape(Decode(datum));
#endif
  return InferImageShape(datum.channels(), datum.height(), datum.width());
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const vector<Datum>& datums) {
  Require(!datums.empty(), "there is no image to take the shape from");
  vector<int> shape = InferBlobShape(datums[0]);
  shape[0] = static_cast<int>(datums.size());
  return shape;
}

#ifdef USE_OPENCV

template <typename Dtype>
ImageCrop DataTransformer<Dtype>::TransformWhole(const cv::Mat& original, Blob<Dtype>* blob) {
  ImageDraws draws;
  DrawResize(&draws);
  const cv::Mat image = Resized(original, draws);
  const ImageView<uint8_t> view = ViewOf(image);
  CheckSizes(view.channels, view.height, view.width, blob->shape());
  const ImageCrop crop = DrawCrop(view.height, view.width);
  Write(view, crop, blob->mutable_cpu_data());
  return crop;
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const cv::Mat& image, Blob<Dtype>* blob) {
  TransformWhole(image, blob);
}

template <typename Dtype>
ImageCrop DataTransformer<Dtype>::TransformTo(const cv::Mat& original, const ImageDraws& draws,
                                              const vector<int>& item_shape, Dtype* item) const {
  const cv::Mat image = Resized(original, draws);
  const ImageView<uint8_t> view = ViewOf(image);
  CheckSizes(view.channels, view.height, view.width, item_shape);
  const ImageCrop crop = DrawnCrop(view.height, view.width, draws);
  Write(view, crop, item);
  return crop;
}

template <typename Dtype>
void DataTransformer<Dtype>::TransformLabelsTo(const cv::Mat& labels, const ImageDraws& draws,
                                               const vector<int>& item_shape, Dtype* item) const {
  Require(!ChangesSize(param_), Error::Field{"transform_param"},
          ": resizing is for images, not for images of labels");
  const ImageView<uint8_t> view = ViewOf(labels);
  CheckFit(view.channels, view.height, view.width, item_shape);
  Write(view, DrawnCrop(view.height, view.width, draws), item, false);
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const vector<cv::Mat>& images, Blob<Dtype>* blob) {
  ForEachItem(images.size(), blob, [&](int i, Blob<Dtype>* item) { Transform(images[i], item); });
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const cv::Mat& image) {
  return InferImageShape(image.channels(), image.rows, image.cols);
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const vector<cv::Mat>& images) {
  Require(!images.empty(), "there is no image to take the shape from");
  vector<int> shape = InferBlobShape(images[0]);
  shape[0] = static_cast<int>(images.size());
  return shape;
}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(DataTransformer);

}  // namespace caffe
