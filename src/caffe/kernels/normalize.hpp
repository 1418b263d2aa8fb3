#ifndef CAFFE_KERNELS_NORMALIZE_HPP_
#define CAFFE_KERNELS_NORMALIZE_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

// T, D: float, double or float16; double only together with double. Arithmetic is in float for
// 16-bit types. y may be x, and dx may be dy, where their types are the same.

/// The sizes, (num, channels, spatial), of a division by the root of a sum of squares: over the
/// channels and, with across_spatial, over the spatial axis too.
struct NormShape {
  size_t num = 0, channels = 0, spatial = 0;
  bool across_spatial = true;
  double eps = 0;           ///< added to the sum
  bool fixed_norm = false;  ///< gradients take the norm for a constant; not of cuda's functions
};

/// y = scale[c] x / norm.
template <typename T>
void Normalize(const NormShape& shape, const double* scale, const T* x, T* y);
/// dx = (scale[c] dy - x (sum of scale dy x) / norm^2) / norm, without the second term where
/// fixed_norm is set, and d_scale[c] = the sum of dy x / norm; each unless it is null. dx must not
/// be dy here.
template <typename T, typename D>
void NormalizeGradient(const NormShape& shape, const double* scale, const T* x, const D* dy, D* dx,
                       double* d_scale);

/// For each of `rows` groups of `length` elements y = (x - mean) / (deviation + eps), the deviation
/// being the root of the mean square of x - mean; y = x - mean if `deviation` is null. `deviation`
/// is an output.
template <typename T>
void Standardize(size_t rows, size_t length, double eps, const T* x, T* y, double* deviation);
/// The gradient of that from its results; `deviation` is read.
template <typename T, typename D>
void StandardizeGradient(size_t rows, size_t length, double eps, const T* y,
                         const double* deviation, const D* dy, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_NORMALIZE_HPP_
