#ifndef CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_
#define CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_

#include "caffe/error.hpp"
#include "caffe/kernels/image_strides.hpp"

namespace caffe::kernels {

/// `strides` with 0 replaced by the size of an input or output image. Throws Error for smaller
/// strides.
inline ImageStrides WithoutZeros(ImageStrides strides, size_t input, size_t output) {
  const auto fill = [](size_t* stride, size_t image, const char* name) {
    if (*stride == 0) *stride = image;
    Require(*stride >= image, "the images of ", name, " have ", image, " elements and begin ",
            *stride, " apart");
  };
  fill(&strides.x, input, "x");
  fill(&strides.y, output, "y");
  fill(&strides.residual, output, "the residual");
  return strides;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_IMAGE_SIZES_HPP_
