#ifndef CAFFE_DATA_CROP_SIDES_HPP_
#define CAFFE_DATA_CROP_SIDES_HPP_

#include <cstdint>
#include <limits>

#include "caffe/error.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Sides of the crop in pixels, 0: the whole image. Each fork has fields of its own: crop_size
/// (BVLC) comes first, then crop_h and crop_w (SSD), then crop_height and crop_width. Throws Error
/// for a side that no image can have.
struct CropSides {
  explicit CropSides(const TransformationParameter& p)
      : height(Side(p, p.crop_h(), p.crop_height())), width(Side(p, p.crop_w(), p.crop_width())) {}

  int height, width;

 private:
  static int Side(const TransformationParameter& p, uint32_t ssd, uint32_t other) {
    const uint32_t side = p.crop_size() ? p.crop_size() : ssd ? ssd : other;
    Require(side <= uint32_t(std::numeric_limits<int>::max()),
            Error::Field{"transform_param: crop_size"}, " ", side, " is too large");
    return static_cast<int>(side);
  }
};

}  // namespace caffe

#endif  // CAFFE_DATA_CROP_SIDES_HPP_
