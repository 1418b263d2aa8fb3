#ifndef CAFFE_CUDA_CHECK_HPP_
#define CAFFE_CUDA_CHECK_HPP_

#include <cuda_runtime_api.h>

#include "caffe/error.hpp"

namespace caffe::cuda {

/// Throws Error with `what` was tried and CUDA's own words unless `status` is success.
inline void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // so that it is not reported a second time
  Fail(what, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
}

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_CHECK_HPP_
