#ifndef CAFFE_KERNELS_CUDA_ELEMENTWISE_HPP_
#define CAFFE_KERNELS_CUDA_ELEMENTWISE_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

// Kernels on device memory, started on `stream`; n elements; y may be x unless stated otherwise. T,
// X, Y: float, double or float16, computed in float for float16. Constants are host values.

template <typename X, typename Y>
void Convert(Stream& stream, int n, const X* x, Y* y);
/// The same by element types: FLOAT, DOUBLE and FLOAT16.
void Convert(Stream& stream, int n, ElementType from, const void* x, ElementType to, void* y);

template <typename T>
void Fill(Stream& stream, int n, AccumulatorType<T> value, T* y);
/// y = a x + b y; with b = 0, y is not read.
template <typename X, typename Y>
void Axpby(Stream& stream, int n, AccumulatorType<Y> a, const X* x, AccumulatorType<Y> b, Y* y);
/// y = a x.
template <typename T>
void Scale(Stream& stream, int n, AccumulatorType<T> a, const T* x, T* y);

// Sums over n elements, in double, into one double of device memory.
template <typename T>
void Asum(Stream& stream, int n, const T* x, double* sum);
template <typename T>
void Sumsq(Stream& stream, int n, const T* x, double* sum);
template <typename T>
void Dot(Stream& stream, int n, const T* x, const T* z, double* sum);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_ELEMENTWISE_HPP_
