#ifndef CAFFE_KERNELS_CUDA_ACTIVATION_HPP_
#define CAFFE_KERNELS_CUDA_ACTIVATION_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/activation.hpp"

namespace caffe::cuda {

// On device memory, with the arguments of the kernels of the same names in kernels/activation.hpp;
// n elements; in place where those may be.

template <typename T>
void Activate(Stream& stream, const kernels::Activation& f, int n, const T* x, T* y);
template <typename T, typename D>
void ActivateGradient(Stream& stream, const kernels::Activation& f, int n, const T* v, const D* dy,
                      D* dx);

template <typename T>
void PRelu(Stream& stream, int outer, int channels, int inner, const AccumulatorType<T>* slope,
           const T* x, T* y);
template <typename T, typename D>
void PReluGradient(Stream& stream, int outer, int channels, int inner,
                   const AccumulatorType<D>* slope, const T* x, const D* dy, D* dx);
/// d_slope[c] += the sum over outer and inner of min(x, 0) dy.
template <typename T, typename D>
void PReluSlopeGradient(Stream& stream, int outer, int channels, int inner, const T* x, const D* dy,
                        AccumulatorType<D>* d_slope);

/// y = 1 - exp(-x / c).
template <typename T>
void SoftTruncation(Stream& stream, int n, T c, const T* x, T* y);
/// dx = dy (1 - y) / c.
template <typename T>
void SoftTruncationGradient(Stream& stream, int n, T c, const T* y, const T* dy, T* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_ACTIVATION_HPP_
