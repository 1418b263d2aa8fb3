#ifndef CAFFE_KERNELS_CUDA_NORMALIZE_HPP_
#define CAFFE_KERNELS_CUDA_NORMALIZE_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/normalize.hpp"

namespace caffe::cuda {

// On device memory, with the arguments of the kernels of the same names in kernels/lrn.hpp and
// kernels/normalize.hpp, except as noted.

/// In Caffe's order or with channels last.
template <typename T>
void LrnForward(Stream& stream, const kernels::LrnShape& shape, bool channels_last, const T* x,
                T* y);
template <typename T, typename D>
void LrnBackward(Stream& stream, const kernels::LrnShape& shape, bool channels_last, const T* x,
                 const D* dy, D* dx);

/// Factors of the channels on the device: one each, one for all or, if `values` is null, 1.
template <typename F>
struct ChannelScale {
  const F* values = nullptr;
  bool shared = false;
};
template <typename T>
void Normalize(Stream& stream, const kernels::NormShape& shape,
               ChannelScale<AccumulatorType<T>> scale, const T* x, T* y);
/// Accumulates into d_scale, which has one number, or one per channel, depending on scale.shared.
template <typename T, typename D>
void NormalizeGradient(Stream& stream, const kernels::NormShape& shape,
                       ChannelScale<AccumulatorType<D>> scale, const T* x, const D* dy, D* dx,
                       AccumulatorType<D>* d_scale);

template <typename T>
void Standardize(Stream& stream, int rows, int length, double eps, const T* x, T* y,
                 double* deviation);
template <typename T, typename D>
void StandardizeGradient(Stream& stream, int rows, int length, double eps, const T* y,
                         const double* deviation, const D* dy, D* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_NORMALIZE_HPP_
