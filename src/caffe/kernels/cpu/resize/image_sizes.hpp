#ifndef CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_
#define CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_

#include "caffe/error.hpp"
#include "caffe/kernels/image_strides.hpp"

namespace caffe::kernels {

struct ImageSize {
  size_t channels;  ///< including the padding of the last block
  size_t pixels;
  bool is_plain = false;  ///< in Caffe's order

  size_t count() const { return channels * pixels; }
};

/// `strides` with image strides of 0 replaced by what they stand for. Throws Error where images or
/// pixels would overlap, where pixels do not begin with a block of channels, and where only some of
/// x (unless it is plain), y and the residual, if there is one, have their channels last.
inline ImageStrides WithoutZeros(ImageStrides strides, const ImageSize& input,
                                 const ImageSize& output, size_t block, bool has_residual) {
  const auto fill = [&](size_t* stride, size_t pixel, const ImageSize& image, const char* name) {
    if (pixel != 0) {
      Require(pixel >= image.channels && pixel % block == 0, "the pixels of ", name, " have ",
              image.channels, " channels in blocks of ", block, " and begin ", pixel, " apart");
      if (*stride == 0) *stride = pixel * image.pixels;
      Require(*stride == pixel * image.pixels, "the images of ", name, " have ", image.pixels,
              " pixels of ", pixel, " elements and begin ", *stride, " apart");
    }
    if (*stride == 0) *stride = image.count();
    Require(*stride >= image.count(), "the images of ", name, " have ", image.count(),
            " elements and begin ", *stride, " apart");
  };
  const bool is_last = strides.y_pixel != 0;
  Require((strides.x_pixel != 0) == (is_last && !input.is_plain) &&
              (!has_residual || (strides.residual_pixel != 0) == is_last),
          "only some of x, y and the residual have their channels last");
  fill(&strides.x, strides.x_pixel, input, "x");
  fill(&strides.y, strides.y_pixel, output, "y");
  if (has_residual) {
    fill(&strides.residual, strides.residual_pixel, output, "the residual");
  }
  return strides;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_
