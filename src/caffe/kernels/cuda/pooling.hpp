#ifndef CAFFE_KERNELS_CUDA_POOLING_HPP_
#define CAFFE_KERNELS_CUDA_POOLING_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/pooling.hpp"

namespace caffe::cuda {

// On device memory, with the arguments of the kernels of the same names in kernels/pooling.hpp.
// Gradients are gathered, so sums are the same in each run. If `channels` is not 1, each place has
// that many adjacent channels (channels last), and shape.planes counts images; the mask is laid out
// as y.

template <typename T, typename I>
void MaxPoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x, T* y,
                       I* mask, int channels = 1);
template <typename T, typename I>
void StochasticPoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x,
                              const float* draws, T* y, I* mask);
template <typename T>
void ExpectedPoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x, T* y);
template <typename D, typename I>
void MaskPoolingBackward(Stream& stream, const kernels::PoolingShape& shape, const D* dy,
                         const I* mask, D* dx, int channels = 1);
template <typename I, typename Dtype>
void MaskPositions(Stream& stream, const kernels::PoolingShape& shape, const I* mask,
                   Dtype* positions);
template <typename T>
void AveragePoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x, T* y,
                           int channels = 1);
template <typename D>
void AveragePoolingBackward(Stream& stream, const kernels::PoolingShape& shape, const D* dy, D* dx,
                            int channels = 1);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_POOLING_HPP_
