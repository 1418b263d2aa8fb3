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

/// `strides` with strides of images and planes of 0 replaced by what they stand for. Throws Error
/// where images, planes or pixels would overlap, where pixels do not begin with a block of
/// channels, where only some of x (unless it is plain), y and the residual, if there is one, have
/// their channels last, and where planes have a stride, which the kernel does not take, unless
/// `takes_planes`.
inline ImageStrides WithoutZeros(ImageStrides strides, const ImageSize& input,
                                 const ImageSize& output, size_t block, bool has_residual,
                                 bool takes_planes = false) {
  const auto fill_plane = [&](size_t* plane, size_t pixel, const ImageSize& image,
                              const char* name) {
    Require(*plane == 0 || (takes_planes && pixel == 0 && !image.is_plain), "the planes of ", name,
            " begin ", *plane, " apart, which the kernel does not take");
    const size_t least = image.pixels * (image.is_plain ? 1 : block);
    if (*plane == 0) *plane = least;
    Require(*plane >= least, "the planes of ", name, " have ", least, " elements and begin ",
            *plane, " apart");
  };
  fill_plane(&strides.x_plane, strides.x_pixel, input, "x");
  fill_plane(&strides.y_plane, strides.y_pixel, output, "y");
  const auto fill = [&](size_t* stride, size_t pixel, size_t plane, const ImageSize& image,
                        const char* name) {
    if (pixel != 0) {
      Require(pixel >= image.channels && pixel % block == 0, "the pixels of ", name, " have ",
              image.channels, " channels in blocks of ", block, " and begin ", pixel, " apart");
      if (*stride == 0) *stride = pixel * image.pixels;
      Require(*stride == pixel * image.pixels, "the images of ", name, " have ", image.pixels,
              " pixels of ", pixel, " elements and begin ", *stride, " apart");
    }
    const size_t count =
        pixel != 0 || image.is_plain ? image.count() : image.channels / block * plane;
    if (*stride == 0) *stride = count;
    Require(*stride >= count, "the images of ", name, " have ", count, " elements and begin ",
            *stride, " apart");
  };
  const bool is_last = strides.y_pixel != 0;
  Require((strides.x_pixel != 0) == (is_last && !input.is_plain) &&
              (!has_residual || (strides.residual_pixel != 0) == is_last),
          "only some of x, y and the residual have their channels last");
  fill(&strides.x, strides.x_pixel, strides.x_plane, input, "x");
  fill(&strides.y, strides.y_pixel, strides.y_plane, output, "y");
  if (has_residual) {
    fill(&strides.residual, strides.residual_pixel, strides.y_plane, output, "the residual");
  }
  return strides;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_
