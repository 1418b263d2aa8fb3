#ifndef CAFFE_KERNELS_CUDA_FAKE_QUANTIZATION_HPP_
#define CAFFE_KERNELS_CUDA_FAKE_QUANTIZATION_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/fake_quantization.hpp"

namespace caffe::cuda {

// On device memory, with the arguments and results of the kernels of the same names in
// kernels/fake_quantization.hpp; n elements.

template <typename T>
void FakeQuantize(Stream& stream, int n, const kernels::IntegerGrid& grid, const T* x, T* y);
template <typename T, typename D>
void FakeQuantizeGradient(Stream& stream, int n, const kernels::IntegerGrid& grid, const T* x,
                          const D* dy, D* dx);

/// The minimum and maximum of 0 and some values, and whether all of these are finite.
struct ValueRange {
  float least = 0, most = 0;
  bool finite = true;
};
/// **range, in device memory, becomes that of n values.
template <typename T>
void RangeWithZero(Stream& stream, int n, const T* x, ValueRange* range);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_FAKE_QUANTIZATION_HPP_
