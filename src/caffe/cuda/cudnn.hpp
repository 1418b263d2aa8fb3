#ifndef CAFFE_CUDA_CUDNN_HPP_
#define CAFFE_CUDA_CUDNN_HPP_

#include <cudnn.h>

#include "caffe/device.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "dynamic_library.hpp"

namespace caffe::cuda {

/// Throws Error with `what` was tried and cuDNN's own words unless `status` is success.
void CheckCudnn(cudnnStatus_t status, const char* what);

/// The calling thread's handle for its present GPU, which computes on `stream`.
cudnnHandle_t CudnnHandle(const Stream& stream);

/// False, and why is logged once, where cuDNN cannot be loaded.
bool CudnnIsInstalled();

template <typename T>
constexpr cudnnDataType_t CudnnType() {
  return sizeof(T) == 8 ? CUDNN_DATA_DOUBLE : sizeof(T) == 4 ? CUDNN_DATA_FLOAT : CUDNN_DATA_HALF;
}

// The products of convolution.hpp without a bias, by cuDNN. They return false where cuDNN does not
// compute them.
template <typename T>
bool CudnnConvolutionForward(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                             const ConvolutionOptions& options, const T* x, const T* weights, T* y);
template <typename T>
bool CudnnConvolutionBackwardData(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                                  const ConvolutionOptions& options, const T* dy, const T* weights,
                                  T* dx);
template <typename T>
bool CudnnConvolutionBackwardWeights(Stream& stream, const kernels::ConvolutionShape& shape,
                                     int num, const ConvolutionOptions& options, const T* x,
                                     const T* dy, AccumulatorType<T>* d_weights);

/// d_weights += the gradient of the weights of a convolution in FLOAT16, on tensor cores, as
/// floats, which have the range for it. `channels_last`: x and dy are; else they are copied. False
/// where cuDNN has no engine for it (groups, no compiler).
bool CudnnHalfWeightGradient(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                             bool channels_last, const float16* x, const float16* dy,
                             float* d_weights);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_CUDNN_HPP_
