#ifndef CAFFE_KERNELS_ELEMENTWISE_HPP_
#define CAFFE_KERNELS_ELEMENTWISE_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

// T, D, X, Y: float, double or float16; double only together with double. An output may be one of
// the inputs of the same type. Arithmetic is in float for 16-bit types.

/// y = value.
template <typename T>
void Set(size_t n, AccumulatorType<T> value, T* y);

/// y = a x + b.
template <typename X, typename Y>
void Affine(size_t n, AccumulatorType<Y> a, AccumulatorType<Y> b, const X* x, Y* y);

template <typename X, typename Z, typename Y>
void Add(size_t n, const X* x, const Z* z, Y* y);
template <typename X, typename Z, typename Y>
void Subtract(size_t n, const X* x, const Z* z, Y* y);
template <typename X, typename Z, typename Y>
void Multiply(size_t n, const X* x, const Z* z, Y* y);
template <typename X, typename Z, typename Y>
void Divide(size_t n, const X* x, const Z* z, Y* y);

/// y = mask ? scale x : 0.
template <typename T>
void MaskScale(size_t n, const uint8_t* mask, AccumulatorType<T> scale, const T* x, T* y);

/// y = a[c] x + b[c] for x of shape (outer, channels, inner); b may be null.
template <typename T>
void ChannelAffine(size_t outer, size_t channels, size_t inner, const AccumulatorType<T>* a,
                   const AccumulatorType<T>* b, const T* x, T* y);

/// sum[c] = sum over outer and inner of x, and dot[c] of x z, where they are not null; overwritten.
template <typename X, typename Z>
void ChannelSums(size_t outer, size_t channels, size_t inner, const X* x, const Z* z, double* sum,
                 double* dot);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_ELEMENTWISE_HPP_
