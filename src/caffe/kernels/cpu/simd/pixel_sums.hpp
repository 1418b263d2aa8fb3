#ifndef CAFFE_KERNELS_CPU_PIXEL_SUMS_HPP_
#define CAFFE_KERNELS_CPU_PIXEL_SUMS_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe::kernels {

/// Sums of pixels in memory, 4 bytes each, to be written with channels last: for each row that has
/// a pixel some vectors of outputs. They may be changed.
struct PixelSums {
  void* sums;
  size_t pitch;                    ///< sums from row to row: a multiple of a vector
  int rows, vectors;               ///< vectors of a row to be written
  const int32_t* pixels;           ///< of each row; negative: none
  size_t y_pixel, residual_pixel;  ///< elements from pixel to pixel
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PIXEL_SUMS_HPP_
