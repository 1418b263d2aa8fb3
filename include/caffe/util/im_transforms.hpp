#ifndef CAFFE_UTIL_IM_TRANSFORMS_HPP_
#define CAFFE_UTIL_IM_TRANSFORMS_HPP_

#include <array>
#include <utility>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/bbox_util.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>

/// Random changes of images. Each comes in two parts: what is random is drawn with the calling
/// thread's generator, in the SSD fork's order; then pixels are changed, in any thread.
namespace caffe {

/// Throws Error for bounds out of which nothing can be drawn.
void CheckDistortion(const DistortionParameter& param);
void CheckNoise(const NoiseParameter& param);
void CheckExpansion(const ExpansionParameter& param);
void CheckResize(const ResizeParameter& param);

/// Changes of colour, in the order in which they are made.
struct Distortion {
  enum Kind { BRIGHTNESS, CONTRAST, SATURATION, HUE };
  vector<std::pair<Kind, float>> changes;
  std::array<int, 3> channels = {{0, 1, 2}};  ///< where each channel comes from
};
/// An effect that DeepDetect's switches select (all_effects: each) is drawn with `prob`, unless it
/// has a probability of its own; a range that is not given is then the one of SSD's nets.
Distortion DrawDistortion(const DistortionParameter& param);
/// Images of other than three channels keep their saturation, hue and channels.
cv::Mat Distorted(const cv::Mat& in_img, const Distortion& distortion);
cv::Mat ApplyDistort(const cv::Mat& in_img, const DistortionParameter& param);

/// What bad cameras and files do to images, in the order in which it is done.
struct Noise {
  enum Kind {
    DECOLORIZE,
    GAUSS_BLUR,
    HIST_EQ,
    CLAHE,
    JPEG,
    ERODE,
    POSTERIZE,
    INVERSE,
    SALT_PEPPER,
    CONVERT_TO_HSV
  };
  vector<Kind> changes;
  uint32_t seed = 0;  ///< of the places of SALT_PEPPER
};
/// Each effect that is selected, with probability `prob`; without `prob`, SSD's way, for certain.
/// all_effects selects each; JPEG and SALT_PEPPER need their `jpeg` and `fraction`, too.
Noise DrawNoise(const NoiseParameter& param);
/// For images of 8 bits and 1 or 3 channels; one channel keeps what is about colors.
cv::Mat Noisy(const cv::Mat& in_img, const NoiseParameter& param, const Noise& noise);

/// A larger image around the image.
struct Expansion {
  int height = 0, width = 0;       ///< of the larger one
  int h_offset = 0, w_offset = 0;  ///< where the image lies in it
};
/// For an image of these sizes.
Expansion DrawExpansion(const ExpansionParameter& param, int height, int width);
/// For an image whose sides become `ratio` times as long.
Expansion DrawExpansion(float ratio, int height, int width);
/// The frame has the values `mean`, one for all channels or one for each; none: 0.
cv::Mat Expanded(const cv::Mat& in_img, const Expansion& expansion, const vector<float>& mean);
/// The larger image as a box of the smaller one.
NormalizedBBox BoxOfExpansion(const Expansion& expansion, int height, int width);

/// The part in `bbox`, at least one pixel; it shares the image's memory.
cv::Mat Patch(const cv::Mat& in_img, const NormalizedBBox& bbox);

/// The size of an image after resize_param.
void InferNewSize(const ResizeParameter& resize_param, const int old_width, const int old_height,
                  int* new_width, int* new_height);
/// The size and frame that resize_param says, by one of its interp_modes: drawn from the calling
/// thread's generator, or the one that `draw`, any number, chooses.
ResizeParameter::Interp_mode DrawInterpolation(const ResizeParameter& param);
ResizeParameter::Interp_mode DrawnInterpolation(const ResizeParameter& param, uint32_t draw);
cv::Mat Resized(const cv::Mat& in_img, const ResizeParameter& param,
                ResizeParameter::Interp_mode interpolation);
cv::Mat ApplyResize(const cv::Mat& in_img, const ResizeParameter& param);

}  // namespace caffe

#endif  // USE_OPENCV

#endif  // CAFFE_UTIL_IM_TRANSFORMS_HPP_
