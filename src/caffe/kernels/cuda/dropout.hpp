#ifndef CAFFE_KERNELS_CUDA_DROPOUT_HPP_
#define CAFFE_KERNELS_CUDA_DROPOUT_HPP_

#include <cstdint>

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

/// mask[i] = 1 with probability `keep`, else 0: number i of the random sequence given by `key`,
/// independent of GPU and launch (Philox 4x32-10, Salmon et al. 2011).
void BernoulliMask(Stream& stream, int n, uint64_t key, double keep, uint8_t* mask);

/// y = mask * scale * x.
template <typename T>
void MaskScale(Stream& stream, int n, const uint8_t* mask, AccumulatorType<T> scale, const T* x,
               T* y);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_DROPOUT_HPP_
