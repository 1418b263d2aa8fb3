#ifndef CAFFE_KERNELS_STRIDED_COPY_HPP_
#define CAFFE_KERNELS_STRIDED_COPY_HPP_

#include <cstddef>
#include <vector>

namespace caffe::kernels {

/// Distances between neighbours along each axis, in elements; they may be negative.
using Strides = std::vector<std::ptrdiff_t>;

/// Those of a contiguous array.
Strides ContiguousStrides(const std::vector<int>& shape);

/// y[i . y_strides] = x[i . x_strides] for all indices i within `shape`. x and y are those of
/// index 0 and must not overlap. T: float, double, float16.
template <typename T>
void CopyStrided(const std::vector<int>& shape, const T* x, const Strides& x_strides, T* y,
                 const Strides& y_strides);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_STRIDED_COPY_HPP_
