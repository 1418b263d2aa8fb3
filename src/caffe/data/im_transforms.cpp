#include "caffe/util/im_transforms.hpp"

#ifdef USE_OPENCV

#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "caffe/core/limits.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

void CheckDistortionRange(const char* field, float lower, float upper) {
  Require(lower >= 0 && lower <= upper, Error::Field{"distort_param"}, ": ", field, "_lower ",
          lower, " and ", field, "_upper ", upper, " are no range");
}

/// A colour of as many channels as an image may have.
cv::Scalar ScalarOf(const vector<float>& values, int channels, const char* field) {
  if (values.empty()) return cv::Scalar::all(0);
  if (values.size() == 1) return cv::Scalar::all(values[0]);
  Require(static_cast<int>(values.size()) == channels && channels <= 4, field, " is given ",
          values.size(), " times for ", channels, " channels",
          Error::Remedy{"give it once, or once per channel"});
  cv::Scalar scalar;
  for (int c = 0; c < channels; ++c) scalar[c] = values[c];
  return scalar;
}

int OpenCvMode(ResizeParameter::Interp_mode mode) {
  switch (mode) {
    case ResizeParameter::AREA:
      return cv::INTER_AREA;
    case ResizeParameter::NEAREST:
      return cv::INTER_NEAREST;
    case ResizeParameter::CUBIC:
      return cv::INTER_CUBIC;
    case ResizeParameter::LANCZOS4:
      return cv::INTER_LANCZOS4;
    default:
      return cv::INTER_LINEAR;
  }
}

int OpenCvBorder(ResizeParameter::Pad_mode mode) {
  switch (mode) {
    case ResizeParameter::MIRRORED:
      return cv::BORDER_REFLECT101;
    case ResizeParameter::REPEAT_NEAREST:
      return cv::BORDER_REPLICATE;
    default:
      return cv::BORDER_CONSTANT;
  }
}

}  // namespace

namespace {

void CheckProbability(const char* message, bool has_prob, float prob, bool selects) {
  Require(prob >= 0 && prob <= 1, message, ": prob must lie between 0 and 1, got ", prob);
  Require(!has_prob || selects, message, ": prob is given, but no effect",
          Error::Remedy{"give all_effects, or the effects one by one"});
}

bool SelectsEffects(const DistortionParameter& p) {
  return p.all_effects() || p.brightness() || p.contrast() || p.saturation() || p.hue() ||
         p.random_order();
}

/// With SSD's fields alone.
DistortionParameter Spelled(const DistortionParameter& param) {
  DistortionParameter p = param;
  const auto selected = [&p](bool effect, bool has_probability) {
    return (effect || p.all_effects()) && !has_probability;
  };
  if (selected(p.brightness(), p.has_brightness_prob())) {
    p.set_brightness_prob(p.prob());
    if (!p.has_brightness_delta()) p.set_brightness_delta(32);
  }
  if (selected(p.contrast(), p.has_contrast_prob())) {
    p.set_contrast_prob(p.prob());
    if (!p.has_contrast_lower()) p.set_contrast_lower(0.5f);
    if (!p.has_contrast_upper()) p.set_contrast_upper(1.5f);
  }
  if (selected(p.hue(), p.has_hue_prob())) {
    p.set_hue_prob(p.prob());
    if (!p.has_hue_delta()) p.set_hue_delta(18);
  }
  if (selected(p.saturation(), p.has_saturation_prob())) {
    p.set_saturation_prob(p.prob());
    if (!p.has_saturation_lower()) p.set_saturation_lower(0.5f);
    if (!p.has_saturation_upper()) p.set_saturation_upper(1.5f);
  }
  if (selected(p.random_order(), p.has_random_order_prob())) p.set_random_order_prob(p.prob());
  return p;
}

/// The effects that noise_param selects, in the order in which they are made.
vector<Noise::Kind> SelectedNoise(const NoiseParameter& p) {
  const bool all = p.all_effects();
  const std::pair<Noise::Kind, bool> effects[] = {
      {Noise::DECOLORIZE, all || p.decolorize()},
      {Noise::GAUSS_BLUR, all || p.gauss_blur()},
      {Noise::HIST_EQ, all || p.hist_eq()},
      {Noise::CLAHE, all || p.clahe()},
      {Noise::JPEG, p.jpeg() > 0},
      {Noise::ERODE, all || p.erode()},
      {Noise::POSTERIZE, all || p.posterize()},
      {Noise::INVERSE, all || p.inverse()},
      {Noise::SALT_PEPPER, (all || p.saltpepper()) && p.saltpepper_param().fraction() > 0},
      {Noise::CONVERT_TO_HSV, all || p.convert_to_hsv()},
  };
  vector<Noise::Kind> selected;
  for (const auto& effect : effects) {
    if (effect.second) selected.push_back(effect.first);
  }
  return selected;
}

}  // namespace

void CheckDistortion(const DistortionParameter& given) {
  CheckProbability("distort_param", given.has_prob(), given.prob(), SelectsEffects(given));
  Require(!SelectsEffects(given) || given.has_prob(), Error::Field{"distort_param"},
          ": effects are selected, prob says how often", Error::Remedy{"give it"});
  const DistortionParameter param = Spelled(given);
  Require(param.brightness_delta() >= 0 && param.brightness_delta() <= 255,
          Error::Field{"distort_param: brightness_delta"}, " must lie between 0 and 255, got ",
          param.brightness_delta());
  Require(param.hue_delta() >= 0 && param.hue_delta() <= 180,
          Error::Field{"distort_param: hue_delta"}, " must lie between 0 and 180, got ",
          param.hue_delta());
  CheckDistortionRange("contrast", param.contrast_lower(), param.contrast_upper());
  CheckDistortionRange("saturation", param.saturation_lower(), param.saturation_upper());
}

void CheckNoise(const NoiseParameter& param) {
  CheckProbability("noise_param", param.has_prob(), param.prob(), !SelectedNoise(param).empty());
  Require(!param.all_effects() || param.has_prob(), Error::Field{"noise_param"},
          ": all_effects needs prob, which says how often");
  Require(!param.convert_to_lab(), Error::Field{"noise_param"},
          ": convert_to_lab is not available, as images have 8 bits",
          Error::Remedy{"leave it out"});
  Require(param.jpeg() <= 100, Error::Field{"noise_param: jpeg"},
          " is a quality of 100 at most, got ", param.jpeg());
  const SaltPepperParameter& salt = param.saltpepper_param();
  Require(salt.fraction() >= 0 && salt.fraction() <= 1,
          Error::Field{"noise_param: saltpepper_param: fraction"},
          " must lie between 0 and 1, got ", salt.fraction());
  Require(!param.saltpepper() || salt.fraction() > 0, Error::Field{"noise_param: saltpepper"},
          " needs saltpepper_param { fraction }");
  for (const float value : salt.value()) {
    Require(value >= 0 && value <= 255, Error::Field{"noise_param: saltpepper_param: value"},
            " must lie between 0 and 255, got ", value);
  }
}

void CheckExpansion(const ExpansionParameter& param) {
  Require(param.max_expand_ratio() >= 1 && param.max_expand_ratio() <= 100,
          Error::Field{"expand_param: max_expand_ratio"}, " must lie between 1 and 100, got ",
          param.max_expand_ratio());
}

void CheckResize(const ResizeParameter& param) {
  Require(
      param.height() > 0 && param.width() > 0 && param.height() < 32768 && param.width() < 32768,
      Error::Field{"resize_param"}, ": give height and width, both positive, got ", param.height(),
      " and ", param.width());
}

Distortion DrawDistortion(const DistortionParameter& param) {
  const DistortionParameter p = Spelled(param);
  Distortion distortion;
  const auto draw = [&](Distortion::Kind kind, float probability, float lower, float upper) {
    if (RandomUniform(0, 1) >= probability) return;
    distortion.changes.emplace_back(kind, RandomUniform(lower, upper));
  };
  const auto contrast = [&] {
    draw(Distortion::CONTRAST, p.contrast_prob(), p.contrast_lower(), p.contrast_upper());
  };
  const bool contrast_early = RandomUniform(0, 1) > 0.5f;
  draw(Distortion::BRIGHTNESS, p.brightness_prob(), -p.brightness_delta(), p.brightness_delta());
  if (contrast_early) contrast();
  draw(Distortion::SATURATION, p.saturation_prob(), p.saturation_lower(), p.saturation_upper());
  draw(Distortion::HUE, p.hue_prob(), -p.hue_delta(), p.hue_delta());
  if (!contrast_early) contrast();
  if (RandomUniform(0, 1) < p.random_order_prob()) {
    caffe::shuffle(distortion.channels.begin(), distortion.channels.end());
  }
  return distortion;
}

namespace {

/// Multiplies and shifts one channel of hue, saturation and value.
cv::Mat WithHsv(const cv::Mat& image, int channel, double factor, double shift) {
  cv::Mat hsv, result;
  cv::cvtColor(image, hsv, cv::COLOR_BGR2HSV);
  vector<cv::Mat> channels;
  cv::split(hsv, channels);
  channels[channel].convertTo(channels[channel], -1, factor, shift);
  cv::merge(channels, hsv);
  cv::cvtColor(hsv, result, cv::COLOR_HSV2BGR);
  return result;
}

}  // namespace

cv::Mat Distorted(const cv::Mat& in_img, const Distortion& distortion) {
  cv::Mat image = in_img;
  const bool color = image.channels() == 3;
  for (const auto& change : distortion.changes) {
    const float x = change.second;
    cv::Mat changed;
    switch (change.first) {
      case Distortion::BRIGHTNESS:
        image.convertTo(changed, -1, 1, x);
        break;
      case Distortion::CONTRAST:
        image.convertTo(changed, -1, x, 0);
        break;
      case Distortion::SATURATION:
        changed = color ? WithHsv(image, 1, x, 0) : image;
        break;
      case Distortion::HUE:
        changed = color ? WithHsv(image, 0, 1, x) : image;
        break;
    }
    image = changed;
  }
  if (!color || distortion.channels == Distortion().channels) return image;
  vector<cv::Mat> channels, shuffled;
  cv::split(image, channels);
  for (const int channel : distortion.channels) shuffled.push_back(channels[channel]);
  cv::Mat result;
  cv::merge(shuffled, result);
  return result;
}

cv::Mat ApplyDistort(const cv::Mat& in_img, const DistortionParameter& param) {
  return Distorted(in_img, DrawDistortion(param));
}

Noise DrawNoise(const NoiseParameter& param) {
  Noise noise;
  for (const Noise::Kind kind : SelectedNoise(param)) {
    if (param.has_prob() && RandomUniform(0, 1) >= param.prob()) continue;
    noise.changes.push_back(kind);
    if (kind == Noise::SALT_PEPPER) noise.seed = caffe_rng_rand();
  }
  return noise;
}

namespace {

/// Changes an image's brightness by f(plane, &result).
template <typename Function>
cv::Mat WithBrightness(const cv::Mat& image, Function&& f) {
  cv::Mat result;
  if (image.channels() == 1) {
    f(image, &result);
    return result;
  }
  cv::Mat ycrcb, plane;
  cv::cvtColor(image, ycrcb, cv::COLOR_BGR2YCrCb);
  vector<cv::Mat> planes;
  cv::split(ycrcb, planes);
  f(planes[0], &plane);
  planes[0] = plane;
  cv::merge(planes, ycrcb);
  cv::cvtColor(ycrcb, result, cv::COLOR_YCrCb2BGR);
  return result;
}

/// Four values for each channel.
cv::Mat Posterized(const cv::Mat& image) {
  cv::Mat table(1, 256, CV_8U), result;
  for (int i = 0; i < 256; ++i) table.at<uint8_t>(0, i) = static_cast<uint8_t>(i / 64 * 64 + 32);
  cv::LUT(image, table, result);
  return result;
}

cv::Mat Compressed(const cv::Mat& image, float quality) {
  vector<uint8_t> file;
  const bool written = cv::imencode(
      ".jpg", image, file, {cv::IMWRITE_JPEG_QUALITY, std::max(1, static_cast<int>(quality))});
  Require(written, Error::Field{"noise_param"}, ": this OpenCV writes no JPEG");
  return cv::imdecode(file, image.channels() == 1 ? cv::IMREAD_GRAYSCALE : cv::IMREAD_COLOR);
}

cv::Mat Salted(const cv::Mat& image, const SaltPepperParameter& param, uint32_t seed) {
  const vector<float> values(param.value().begin(), param.value().end());
  const int channels = image.channels();
  const cv::Scalar color = ScalarOf(values, channels, "noise_param: saltpepper_param: value");
  cv::Mat result = image.clone();
  std::mt19937 generator(seed);
  const int count = static_cast<int>(param.fraction() * image.rows * image.cols);
  for (int i = 0; i < count; ++i) {
    const int h = static_cast<int>(generator() % image.rows);
    uint8_t* pixel = result.ptr<uint8_t>(h) + generator() % image.cols * channels;
    for (int c = 0; c < channels; ++c) pixel[c] = static_cast<uint8_t>(color[c]);
  }
  return result;
}

cv::Mat Changed(const cv::Mat& image, const NoiseParameter& param, Noise::Kind kind,
                uint32_t seed) {
  const bool color = image.channels() == 3;
  cv::Mat grey, result;
  switch (kind) {
    case Noise::DECOLORIZE:
      if (!color) return image;
      cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
      cv::cvtColor(grey, result, cv::COLOR_GRAY2BGR);
      return result;
    case Noise::GAUSS_BLUR:
      cv::GaussianBlur(image, result, cv::Size(7, 7), 1.5);
      return result;
    case Noise::HIST_EQ:
      return WithBrightness(
          image, [](const cv::Mat& plane, cv::Mat* out) { cv::equalizeHist(plane, *out); });
    case Noise::CLAHE:
      return WithBrightness(image, [](const cv::Mat& plane, cv::Mat* out) {
        cv::createCLAHE(4)->apply(plane, *out);
      });
    case Noise::JPEG:
      return Compressed(image, param.jpeg());
    case Noise::ERODE:
      cv::erode(image, result, cv::getStructuringElement(cv::MORPH_ELLIPSE, cv::Size(3, 3)));
      return result;
    case Noise::POSTERIZE:
      return Posterized(image);
    case Noise::INVERSE:
      cv::bitwise_not(image, result);
      return result;
    case Noise::SALT_PEPPER:
      return Salted(image, param.saltpepper_param(), seed);
    case Noise::CONVERT_TO_HSV:
      if (!color) return image;
      cv::cvtColor(image, result, cv::COLOR_BGR2HSV);
      return result;
  }
  return image;
}

}  // namespace

cv::Mat Noisy(const cv::Mat& in_img, const NoiseParameter& param, const Noise& noise) {
  cv::Mat image = in_img;
  if (noise.changes.empty()) return image;
  Require(image.depth() == CV_8U && (image.channels() == 1 || image.channels() == 3),
          "noise_param is for images of 8 bits and 1 or 3 channels, this one has ",
          image.channels());
  for (const Noise::Kind kind : noise.changes) image = Changed(image, param, kind, noise.seed);
  return image;
}

Expansion DrawExpansion(const ExpansionParameter& param, int height, int width) {
  if (RandomUniform(0, 1) > param.prob() || param.max_expand_ratio() - 1 < 1e-2) {
    return {height, width, 0, 0};
  }
  return DrawExpansion(RandomUniform(1, param.max_expand_ratio()), height, width);
}

Expansion DrawExpansion(float ratio, int height, int width) {
  Expansion expansion;
  expansion.height = static_cast<int>(height * ratio);
  expansion.width = static_cast<int>(width * ratio);
  expansion.h_offset = static_cast<int>(RandomUniform(0, expansion.height - height));
  expansion.w_offset = static_cast<int>(RandomUniform(0, expansion.width - width));
  return expansion;
}

cv::Mat Expanded(const cv::Mat& in_img, const Expansion& e, const vector<float>& mean) {
  if (in_img.rows == e.height && in_img.cols == e.width) return in_img;
  limits::CheckImage(e.height, e.width, "expand_param");
  cv::Mat result(e.height, e.width, in_img.type(),
                 ScalarOf(mean, in_img.channels(), "transform_param: mean_value"));
  in_img.copyTo(result(cv::Rect(e.w_offset, e.h_offset, in_img.cols, in_img.rows)));
  return result;
}

NormalizedBBox BoxOfExpansion(const Expansion& e, int height, int width) {
  NormalizedBBox bbox;
  SetBox({-float(e.w_offset) / width, -float(e.h_offset) / height,
          float(e.width - e.w_offset) / width, float(e.height - e.h_offset) / height},
         &bbox);
  return bbox;
}

ResizeParameter::Interp_mode DrawInterpolation(const ResizeParameter& param) {
  const int modes = param.interp_mode_size();
  if (modes == 0) return ResizeParameter::LINEAR;
  return param.interp_mode(std::min(modes - 1, static_cast<int>(RandomUniform(0, 1) * modes)));
}

ResizeParameter::Interp_mode DrawnInterpolation(const ResizeParameter& param, uint32_t draw) {
  const uint32_t modes = param.interp_mode_size();
  return modes == 0 ? ResizeParameter::LINEAR : param.interp_mode(static_cast<int>(draw % modes));
}

cv::Mat Patch(const cv::Mat& in_img, const NormalizedBBox& bbox) {
  const Box patch = Scaled(Clipped(BoxOf(bbox)), in_img.rows, in_img.cols);
  const int x = std::min(int(patch.xmin), in_img.cols - 1);
  const int y = std::min(int(patch.ymin), in_img.rows - 1);
  const int width = std::min(std::max(1, int(patch.xmax - patch.xmin)), in_img.cols - x);
  const int height = std::min(std::max(1, int(patch.ymax - patch.ymin)), in_img.rows - y);
  return in_img(cv::Rect(x, y, width, height));
}

namespace {

/// The size of an image before a frame is put around it. What is cut off a side is rounded down.
cv::Size SizeWithoutFrame(const ResizeParameter& param, int old_width, int old_height) {
  const float aspect = float(old_width) / old_height;
  int height = static_cast<int>(param.height()), width = static_cast<int>(param.width());
  const bool wider = aspect > float(width) / height;
  const bool fits = param.resize_mode() == ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
  if (param.resize_mode() != ResizeParameter::WARP) {
    if (wider == fits) {
      height = std::max(1, static_cast<int>(width / aspect));
    } else {
      width = std::max(1, static_cast<int>(height * aspect));
    }
  }
  Require(height < 32768 && width < 32768, Error::Field{"resize_param"}, ": an image of ",
          old_height, " x ", old_width, " would become ", height, " x ", width);
  return cv::Size(width, height);
}

}  // namespace

void InferNewSize(const ResizeParameter& param, const int old_width, const int old_height,
                  int* new_width, int* new_height) {
  const bool framed = param.resize_mode() == ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
  const cv::Size size = framed ? cv::Size(param.width(), param.height())
                               : SizeWithoutFrame(param, old_width, old_height);
  *new_width = size.width;
  *new_height = size.height;
}

cv::Mat Resized(const cv::Mat& in_img, const ResizeParameter& param,
                ResizeParameter::Interp_mode interpolation) {
  const cv::Size size = SizeWithoutFrame(param, in_img.cols, in_img.rows);
  int width, height;
  InferNewSize(param, in_img.cols, in_img.rows, &width, &height);
  for (const cv::Size& made : {size, cv::Size(width, height)}) {
    limits::CheckImage(made.height, made.width, "resize_param");
  }
  cv::Mat resized;
  cv::resize(in_img, resized, size, 0, 0, OpenCvMode(interpolation));
  const int bar_h = height - resized.rows, bar_w = width - resized.cols;
  if (bar_h == 0 && bar_w == 0) return resized;
  const vector<float> pad(param.pad_value().begin(), param.pad_value().end());
  cv::Mat framed;
  cv::copyMakeBorder(resized, framed, bar_h / 2, bar_h - bar_h / 2, bar_w / 2, bar_w - bar_w / 2,
                     OpenCvBorder(param.pad_mode()),
                     ScalarOf(pad, in_img.channels(), "resize_param: pad_value"));
  return framed;
}

cv::Mat ApplyResize(const cv::Mat& in_img, const ResizeParameter& param) {
  return Resized(in_img, param, DrawInterpolation(param));
}

}  // namespace caffe

#endif  // USE_OPENCV
