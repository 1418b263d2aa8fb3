#ifndef CAFFE_KERNELS_PIXEL_CHANNELS_HPP_
#define CAFFE_KERNELS_PIXEL_CHANNELS_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

// Counterparts of functions in batch_norm.hpp and elementwise.hpp for arrays (pixels, channels):
// the channels of a pixel lie together. Vectors have one entry per channel. T, X, Z: float, double
// or float16; double only together with double. Sums are added up in float over some pixels, and
// these sums in double, in an order that does not depend on the number of threads; they read memory
// once.

/// The mean and the biased variance of each channel, without cancellation.
template <typename T>
void PixelMoments(size_t pixels, size_t channels, const T* x, double* mean, double* variance);

/// sum[c] = the sum of x, dot[c] = the sum of x z, where they are not null; overwritten.
template <typename X, typename Z>
void SumsOverPixels(size_t pixels, size_t channels, const X* x, const Z* z, double* sum,
                    double* dot);

/// y = a[c] x + b[c]; b may be null, y may be x.
template <typename T>
void PixelAffine(size_t pixels, size_t channels, const AccumulatorType<T>* a,
                 const AccumulatorType<T>* b, const T* x, T* y);

/// y = a[c] x + b[c] and z = c[c] x + d[c] in one pass; z may be x, y not.
template <typename T>
void PixelAffineTwice(size_t pixels, size_t channels, const AccumulatorType<T>* a,
                      const AccumulatorType<T>* b, const AccumulatorType<T>* c,
                      const AccumulatorType<T>* d, const T* x, T* y, T* z);

/// y = a[c] x + b[c] z + d[c]; y may be x.
template <typename Z, typename X>
void PixelCombine(size_t pixels, size_t channels, const AccumulatorType<X>* a, const X* x,
                  const AccumulatorType<X>* b, const Z* z, const AccumulatorType<X>* d, X* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PIXEL_CHANNELS_HPP_
