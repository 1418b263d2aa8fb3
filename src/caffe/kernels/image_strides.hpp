#ifndef CAFFE_KERNELS_IMAGE_STRIDES_HPP_
#define CAFFE_KERNELS_IMAGE_STRIDES_HPP_

#include <cstddef>

namespace caffe::kernels {

/// Elements from one image to the next where images are parts of larger ones, so that a Concat or
/// Slice along channels is done by writing or reading in place. 0: images are contiguous. A stride
/// is at least an image's size, else functions that take it throw Error.
struct ImageStrides {
  size_t x = 0, y = 0, residual = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_IMAGE_STRIDES_HPP_
