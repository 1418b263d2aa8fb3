#ifndef CAFFE_KERNELS_POOLING_HPP_
#define CAFFE_KERNELS_POOLING_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe {
namespace kernels {

/// The sizes of 2-D pooling over `planes` images and channels together.
struct PoolingShape {
  size_t planes = 0;
  int height = 0, width = 0;
  int pooled_height = 0, pooled_width = 0;
  int kernel_h = 0, kernel_w = 0, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;

  size_t input_plane() const { return size_t(height) * width; }
  size_t output_plane() const { return size_t(pooled_height) * pooled_width; }
};

/// y = the largest value in each window; `index`, if not null, gets its position h * width + w in
/// the plane, the first one of equals, -1 for a window without numbers.
template <typename T>
void MaxPoolingForward(const PoolingShape& shape, const T* x, T* y, int* index);
/// dx = dy at the positions in `index`, added up; else 0.
template <typename D>
void MaxPoolingBackward(const PoolingShape& shape, const D* dy, const int* index, D* dx);

/// y = the sum over each window, divided by the size that the window has when it is cut off at the
/// far side of the padding only (Caffe's rule: padding counts).
template <typename T>
void AveragePoolingForward(const PoolingShape& shape, const T* x, T* y);
template <typename D>
void AveragePoolingBackward(const PoolingShape& shape, const D* dy, D* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_HPP_
