#include "caffe/layers/detectnet_transform_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <map>

#include "caffe/core/limits.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

constexpr int kObjectLength = 16;  // values per object
constexpr int kGridValues = 8;     // per place of the grid, before the classes

/// Class number in the file -> channel behind the kGridValues; DIGITS's single class is number 1.
std::map<uint32_t, uint32_t> ClassesOf(const DetectNetGroundTruthParameter& param) {
  std::map<uint32_t, uint32_t> classes;
  for (const auto& mapping : param.object_class()) classes[mapping.src()] = mapping.dst();
  if (classes.empty()) classes[1] = 0;
  return classes;
}

std::vector<Shape> TopShapesOfDetectnetTransform(const LayerParameter& layer,
                                                 const std::vector<Shape>& bottoms) {
  const DetectNetGroundTruthParameter& param = layer.detectnet_groundtruth_param();
  Require(bottoms.size() == 2, "DetectNetTransformation takes images and objects");
  const Shape &images = bottoms[0], &objects = bottoms[1];
  Require(images.size() == 4 && images[1] == 3,
          "DetectNetTransformation takes images of shape (N, 3, height, width), not ",
          ShapeString(images));
  Require(images[2] > 0 && images[3] > 0, "images of shape ", ShapeString(images),
          " have nothing in them");
  Require(!objects.empty() && objects[0] == images[0], "there are ", images[0],
          " images and objects of shape ", ShapeString(objects), ": one item each");
  constexpr uint32_t kMax = 1 << 16;
  Require(param.stride() > 0, Error::Field{"detectnet_groundtruth_param"},
          ": stride must be positive");
  Require(param.image_size_x() >= param.stride() && param.image_size_x() <= kMax &&
              param.image_size_y() >= param.stride() && param.image_size_y() <= kMax,
          Error::Field{"detectnet_groundtruth_param"}, ": image_size_x ", param.image_size_x(),
          " and image_size_y ", param.image_size_y(), " must be at least stride, ", param.stride(),
          ", and at most ", kMax);
  uint32_t last = 0;
  for (const auto& entry : ClassesOf(param)) last = std::max(last, entry.second);
  Require(last < kMax, Error::Field{"detectnet_groundtruth_param"}, ": object_class dst ", last,
          " is too large");
  const auto places = [&](uint32_t side) {
    return static_cast<int>(std::lrint(double(side) / param.stride()));
  };
  return {{images[0], 3, static_cast<int>(param.image_size_y()),
           static_cast<int>(param.image_size_x())},
          {images[0], kGridValues + static_cast<int>(last) + 1, places(param.image_size_y()),
           places(param.image_size_x())}};
}

const bool detectnet_transform_registered =
    OperationTable::Add(Operation("DetectNetTransformation")
                            .CpuOnly(kMadeOnHost)
                            .Shapes(TopShapesOfDetectnetTransform)
                            .BackwardReads(Operation::kNothing)
                            .FloatBottoms({-1})
                            .FloatTops({-1}));

}  // namespace

template <typename Dtype>
DetectNetTransformationLayer<Dtype>::~DetectNetTransformationLayer() {}

/// A box in pixels, and what it shows.
template <typename Dtype>
struct DetectNetTransformationLayer<Dtype>::Object {
  Dtype x, y, width, height;
  int channel;  // of its class

  Dtype right() const { return x + width; }
  Dtype bottom() const { return y + height; }
  Dtype area() const { return width * height; }
  /// What both cover; empty if nothing.
  Object Intersection(const Object& other) const {
    const Dtype left = std::max(x, other.x), top = std::max(y, other.y);
    const Dtype w = std::min(right(), other.right()) - left;
    const Dtype h = std::min(bottom(), other.bottom()) - top;
    return w > 0 && h > 0 ? Object{left, top, w, h, channel} : Object{0, 0, 0, 0, channel};
  }
};

/// What is done to one image, in this order.
template <typename Dtype>
struct DetectNetTransformationLayer<Dtype>::Augmentation {
  float hue = 0;  // degrees
  float saturation = 1;
  bool flip = false;
  int width, height;   // scaled to
  float rotation = 0;  // degrees
  int crop_x = 0, crop_y = 0;

  bool ChangesColor() const { return ChangesHue() || Desaturates(); }
  bool ChangesHue() const { return std::abs(hue) > FLT_EPSILON; }
  bool Desaturates() const { return saturation < 1 - 1. / 255; }
  bool Rotates() const { return std::abs(rotation) > FLT_EPSILON; }
};

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                                     const vector<Blob<Dtype>*>&) {
#ifndef USE_OPENCV
  Fail("DetectNetTransformation needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
#endif
  const TransformationParameter& transform = this->layer_param_.transform_param();
  const int means = transform.mean_value_size();
  Require(means == 0 || means == 1 || means == 3, Error::Field{"transform_param"},
          ": mean_value is given ", means, " times",
          Error::Remedy{"give it once, or once for each of the 3 channels"});
  const DetectNetAugmentationParameter& augmentation =
      this->layer_param_.detectnet_augmentation_param();
  Require(augmentation.scale_min() > 0 && augmentation.scale_min() <= augmentation.scale_max() &&
              augmentation.scale_max() <= 100,
          Error::Field{"detectnet_augmentation_param"}, ": scale_min ", augmentation.scale_min(),
          " and scale_max ", augmentation.scale_max(), " are not a range of positive factors");
  if (transform.has_mean_file()) {
    BlobProto proto;
    ReadProtoFromBinaryFileOrDie(transform.mean_file(), &proto);
    data_mean_.FromProto(proto);
    Require(data_mean_.channels() == 3 && data_mean_.count() > 0, Error::Field{"transform_param"},
            ": the mean in ", transform.mean_file(), " has shape ", ShapeString(data_mean_.shape()),
            ": 3 channels are needed");
  }
  rng_.reset(new Caffe::RNG(caffe_rng_rand()));
}

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  const auto shapes =
      TopShapesOfDetectnetTransform(this->layer_param_, {bottom[0]->shape(), bottom[1]->shape()});
  top[0]->Reshape(shapes[0]);
  top[1]->Reshape(shapes[1]);
}

/// A number in [0, 1].
template <typename Dtype>
Dtype DetectNetTransformationLayer<Dtype>::Draw() {
  rng_t& generator = *static_cast<rng_t*>(rng_->generator());
  return Dtype(generator()) / Dtype(rng_t::max());
}

template <typename Dtype>
vector<typename DetectNetTransformationLayer<Dtype>::Object>
DetectNetTransformationLayer<Dtype>::ReadObjects(const Blob<Dtype>& objects, int item) const {
  const auto classes = ClassesOf(this->layer_param_.detectnet_groundtruth_param());
  const int length = objects.count(1);
  const Dtype* row = objects.cpu_data() + size_t(item) * length;
  Require(length >= kObjectLength, "objects have ", length, " values per image: a header of ",
          kObjectLength, " is the least");
  Require(row[1] == kObjectLength, "image ", item, ": objects have ", row[1],
          " values each, expected are ", kObjectLength);
  const int most = length / kObjectLength - 1;
  Require(row[0] >= 0 && row[0] <= most, "image ", item, " has ", row[0],
          " objects: there is room for ", most);
  vector<Object> found;
  for (int i = static_cast<int>(row[0]); i > 0; --i) {
    row += kObjectLength;
    if (!(row[5] >= 0 && row[5] < 65536)) continue;
    const auto channel = classes.find(static_cast<uint32_t>(row[5]));
    if (channel == classes.end()) continue;
    for (int k = 0; k < 4; ++k) {
      Require(std::isfinite(row[k]), "image ", item, ": an object's box has the value ", row[k]);
    }
    found.push_back({row[0], row[1], row[2], row[3], static_cast<int>(channel->second)});
  }
  return found;
}

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::WriteGrid(const vector<Object>& objects,
                                                    const vector<int>& grid_shape,
                                                    Dtype* grid) const {
  const DetectNetGroundTruthParameter& param = this->layer_param_.detectnet_groundtruth_param();
  const Object image{0, 0, Dtype(param.image_size_x()), Dtype(param.image_size_y()), 0};
  std::fill_n(grid, size_t(grid_shape[1]) * grid_shape[2] * grid_shape[3], Dtype(0));
  for (const Object& object : objects) {
    const Object seen = param.crop_bboxes() ? object.Intersection(image) : object;
    if (seen.area() >= Dtype(FLT_EPSILON)) WriteObject(seen, grid_shape, grid);
  }
}

// Where objects overlap the later one counts.
template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::WriteObject(const Object& object,
                                                      const vector<int>& grid_shape,
                                                      Dtype* grid) const {
  const DetectNetGroundTruthParameter& param = this->layer_param_.detectnet_groundtruth_param();
  const Dtype stride = param.stride();
  const int channels = grid_shape[1], rows = grid_shape[2], columns = grid_shape[3];
  const size_t plane = size_t(rows) * columns;

  const auto covered = [&](Dtype side) {
    const Dtype shrunk = side * Dtype(param.scale_cvg());
    return param.gridbox_type() == DetectNetGroundTruthParameter_GridboxType_GRIDBOX_MIN
               ? std::min(side, std::max(Dtype(param.min_cvg_len()), shrunk))
               : std::min(Dtype(param.max_cvg_len()), shrunk);
  };
  const Dtype width = covered(object.width), height = covered(object.height);
  const Object coverage{object.x + (object.width - width) / 2,
                        object.y + (object.height - height) / 2, width, height, 0};
  const Dtype norm = stride * stride / coverage.area();

  const auto first = [&](Dtype side, int extent) {
    return static_cast<int>(std::clamp<Dtype>(std::floor(side / stride), 0, extent));
  };
  const auto last = [&](Dtype side, int extent) {
    return static_cast<int>(std::clamp<Dtype>(std::ceil(side / stride), 0, extent));
  };
  for (int y = first(coverage.y, rows); y < last(coverage.bottom(), rows); ++y) {
    for (int x = first(coverage.x, columns); x < last(coverage.right(), columns); ++x) {
      const Object place{x * stride, y * stride, stride, stride, 0};
      if (coverage.Intersection(place).area() / place.area() <= Dtype(FLT_EPSILON)) continue;
      const Dtype values[kGridValues] = {1,
                                         object.x - place.x,
                                         object.y - place.y,
                                         object.right() - place.x,
                                         object.bottom() - place.y,
                                         1 / object.width,
                                         1 / object.height,
                                         param.obj_norm() ? norm : std::max(Dtype(1), norm)};
      Dtype* out = grid + size_t(y) * columns + x;
      for (int c = 0; c < channels; ++c) {
        out[c * plane] = c < kGridValues ? values[c] : Dtype(c == kGridValues + object.channel);
      }
    }
  }
}

#ifdef USE_OPENCV

namespace {

/// Turning an image around its middle and making room for the corners.
struct Rotation {
  Rotation(const cv::Size& size, float degrees) {
    const cv::Point2f middle(size.width * 0.5f, size.height * 0.5f);
    cv::RotatedRect turned(middle, size, degrees);
    cv::Point2f from[4], to[4];
    cv::RotatedRect(middle, size, 0).points(from);
    turned.center -= cv::Point2f(turned.boundingRect().tl());
    turned.points(to);
    matrix = cv::getAffineTransform(from, to);
    const cv::Point whole_middle(size.width / 2, size.height / 2);
    new_size = cv::RotatedRect(whole_middle, size, degrees).boundingRect().size();
  }
  cv::Mat matrix;  // 2 x 3, double
  cv::Size new_size;
};

/// An image of planes as one of pixels, in float.
template <typename Dtype>
cv::Mat PixelsOf(const Dtype* planes, int height, int width) {
  std::vector<cv::Mat> channels;
  for (int c = 0; c < 3; ++c, planes += size_t(height) * width) {
    cv::Mat channel(height, width, CV_32F);
    std::copy(planes, planes + size_t(height) * width, channel.ptr<float>());
    channels.push_back(channel);
  }
  cv::Mat pixels;
  cv::merge(channels, pixels);
  return pixels;
}

}  // namespace

template <typename Dtype>
typename DetectNetTransformationLayer<Dtype>::Augmentation
DetectNetTransformationLayer<Dtype>::DrawAugmentation(int width, int height) {
  const DetectNetAugmentationParameter& param = this->layer_param_.detectnet_augmentation_param();
  const DetectNetGroundTruthParameter& grid = this->layer_param_.detectnet_groundtruth_param();
  const int out_width = grid.image_size_x(), out_height = grid.image_size_y();
  Augmentation augmentation;
  augmentation.width = out_width;
  augmentation.height = out_height;
  if (this->phase_ == TEST) return augmentation;

  const auto symmetric = [this](float most) { return float((Draw() - 0.5) * 2 * most); };
  augmentation.width = width;
  augmentation.height = height;
  if (Draw() <= param.hue_rotation_prob()) {
    augmentation.hue = std::clamp(symmetric(param.hue_rotation()), -180.f, 180.f);
  }
  if (Draw() <= param.desaturation_prob()) {
    augmentation.saturation = 1 - Draw() * param.desaturation_max();
  }
  augmentation.flip = Draw() <= param.flip_prob();
  if (Draw() <= param.scale_prob()) {
    const float scale = param.scale_min() + (param.scale_max() - param.scale_min()) * Draw();
    const auto scaled = [scale](int side) {
      return static_cast<int>(std::clamp(std::round(side * scale), 1.f, 32767.f));
    };
    augmentation.width = scaled(width);
    augmentation.height = scaled(height);
  }
  if (Draw() <= param.rotation_prob()) {
    augmentation.rotation = symmetric(param.max_rotate_degree());
  }

  cv::Size size(augmentation.width, augmentation.height);
  if (augmentation.Rotates()) size = Rotation(size, augmentation.rotation).new_size;
  const bool random_crop = Draw() <= param.crop_prob();
  const double share_x = random_crop ? Draw() : 0.5, share_y = random_crop ? Draw() : 0.5;
  const auto offset = [random_crop](double share, int side, int out_side, int most_shift) {
    const int shift = random_crop ? most_shift : 0;
    return static_cast<int>(std::round(share * (side - out_side + shift) - shift / 2));
  };
  augmentation.crop_x = offset(share_x, size.width, out_width, param.shift_x());
  augmentation.crop_y = offset(share_y, size.height, out_height, param.shift_y());
  return augmentation;
}

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::TransformImage(const Augmentation& augmentation,
                                                         const Blob<Dtype>& bottom, int item,
                                                         Dtype* out) const {
  const TransformationParameter& transform = this->layer_param_.transform_param();
  const DetectNetGroundTruthParameter& grid = this->layer_param_.detectnet_groundtruth_param();
  const int height = bottom.height(), width = bottom.width();
  // Colors between 0 and 1 until the end, as OpenCV's HSV has them.
  constexpr double kFull = 255;
  cv::Mat image = PixelsOf(bottom.cpu_data() + bottom.offset(item), height, width) / kFull;
  if (augmentation.ChangesColor()) {
    cv::cvtColor(image, image, cv::COLOR_BGR2HSV);
    const float hue = augmentation.ChangesHue() ? augmentation.hue : 0;
    const float saturation = augmentation.Desaturates() ? augmentation.saturation : 1;
    for (cv::Vec3f& pixel : cv::Mat_<cv::Vec3f>(image)) {
      pixel[0] += hue;
      pixel[1] *= saturation;
    }
    cv::cvtColor(image, image, cv::COLOR_HSV2BGR);
  }
  if (transform.has_mean_file()) {
    cv::Mat mean = PixelsOf(data_mean_.cpu_data(), data_mean_.height(), data_mean_.width());
    cv::resize(mean, mean, image.size(), 0, 0, cv::INTER_CUBIC);
    image -= mean / kFull;
  } else if (const int means = transform.mean_value_size()) {
    cv::Scalar mean;
    for (int c = 0; c < 3; ++c) mean[c] = transform.mean_value(means == 1 ? 0 : c) / kFull;
    image -= mean;
  }
  if (augmentation.flip) cv::flip(image, image, 1);
  const cv::Size scaled(augmentation.width, augmentation.height);
  limits::CheckImage(scaled.height, scaled.width, "detectnet_augmentation_param: scale");
  if (scaled != image.size()) cv::resize(image, image, scaled, 0, 0, cv::INTER_CUBIC);
  if (augmentation.Rotates()) {
    const Rotation rotation(scaled, augmentation.rotation);
    limits::CheckImage(rotation.new_size.height, rotation.new_size.width,
                       "detectnet_augmentation_param: max_rotate_degree");
    cv::Mat turned = cv::Mat::zeros(rotation.new_size, CV_32FC3);
    cv::warpAffine(image, turned, rotation.matrix, rotation.new_size, cv::INTER_LINEAR,
                   cv::BORDER_TRANSPARENT);
    image = turned;
  }

  const int rows = grid.image_size_y(), columns = grid.image_size_x();
  std::fill_n(out, size_t(3) * rows * columns, Dtype(0));
  for (int h = std::max(0, -augmentation.crop_y);
       h < std::min(rows, image.rows - augmentation.crop_y); ++h) {
    const auto* pixels = image.ptr<cv::Vec3f>(h + augmentation.crop_y);
    for (int w = std::max(0, -augmentation.crop_x);
         w < std::min(columns, image.cols - augmentation.crop_x); ++w) {
      for (int c = 0; c < 3; ++c) {
        out[(size_t(c) * rows + h) * columns + w] = pixels[w + augmentation.crop_x][c] * kFull;
      }
    }
  }
}

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::TransformObjects(const Augmentation& augmentation,
                                                           int width, int height,
                                                           vector<Object>* objects) const {
  const cv::Size scaled(augmentation.width, augmentation.height);
  const Dtype scale_x = Dtype(scaled.width) / width, scale_y = Dtype(scaled.height) / height;
  cv::Mat_<double> matrix = (cv::Mat_<double>(2, 3) << 1, 0, 0, 0, 1, 0);
  if (augmentation.Rotates()) matrix = Rotation(scaled, augmentation.rotation).matrix;
  for (Object& object : *objects) {
    if (augmentation.flip) object.x = width - object.x - object.width - 1;
    object.x *= scale_x;
    object.y *= scale_y;
    object.width *= scale_x;
    object.height *= scale_y;
    // The middle turns, the size stays.
    const double x = object.x + object.width / 2, y = object.y + object.height / 2;
    object.x += matrix(0, 0) * x + matrix(0, 1) * y + matrix(0, 2) - x - augmentation.crop_x;
    object.y += matrix(1, 0) * x + matrix(1, 1) * y + matrix(1, 2) - y - augmentation.crop_y;
  }
}

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                      const vector<Blob<Dtype>*>& top) {
  const int height = bottom[0]->height(), width = bottom[0]->width();
  Dtype* images = top[0]->template overwrite_cpu_data_as<Dtype>();
  Dtype* grids = top[1]->template overwrite_cpu_data_as<Dtype>();
  for (int i = 0; i < bottom[0]->num(); ++i) {
    vector<Object> objects = ReadObjects(*bottom[1], i);
    const Augmentation augmentation = DrawAugmentation(width, height);
    TransformImage(augmentation, *bottom[0], i, images + top[0]->offset(i));
    TransformObjects(augmentation, width, height, &objects);
    WriteGrid(objects, top[1]->shape(), grids + top[1]->offset(i));
  }
}

#else

template <typename Dtype>
void DetectNetTransformationLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                                      const vector<Blob<Dtype>*>&) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(DetectNetTransformationLayer);
REGISTER_LAYER_CLASS(DetectNetTransformation);

}  // namespace caffe
