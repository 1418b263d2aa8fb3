#ifndef CAFFE_UTIL_DEVICE_ALTERNATE_HPP_
#define CAFFE_UTIL_DEVICE_ALTERNATE_HPP_

// NO_GPU and STUB_GPU, which programs find here in Caffe; and in builds with CUDA what custom
// kernels are written with: CUDA_KERNEL_LOOP, CAFFE_GET_BLOCKS and checks of CUDA's results.
//
// That needs CUDA's headers, which this library's others do without. It is there for what nvcc
// compiles (.cu files have it through any header of Caffe's) and for a C++ file that defines
// CAFFE_CUDA_HEADERS before it includes this one.

#include "caffe/common.hpp"

#if !defined(CPU_ONLY) && (defined(__CUDACC__) || defined(CAFFE_CUDA_HEADERS))

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <curand.h>

// Where Caffe's end the program these throw Error.
#define CUDA_CHECK(condition)                                                                    \
  do {                                                                                           \
    const cudaError_t caffe_status = (condition);                                                \
    if (caffe_status != cudaSuccess) {                                                           \
      ::caffe::Fail(__FILE__, ":", __LINE__, ": CUDA says: ", cudaGetErrorString(caffe_status)); \
    }                                                                                            \
  } while (0)

#define CUBLAS_CHECK(condition)                                                      \
  do {                                                                               \
    const cublasStatus_t caffe_status = (condition);                                 \
    if (caffe_status != CUBLAS_STATUS_SUCCESS) {                                     \
      ::caffe::Fail(__FILE__, ":", __LINE__,                                         \
                    ": cuBLAS says: ", ::caffe::cublasGetErrorString(caffe_status)); \
    }                                                                                \
  } while (0)

#define CURAND_CHECK(condition)                                                      \
  do {                                                                               \
    const curandStatus_t caffe_status = (condition);                                 \
    if (caffe_status != CURAND_STATUS_SUCCESS) {                                     \
      ::caffe::Fail(__FILE__, ":", __LINE__,                                         \
                    ": cuRAND says: ", ::caffe::curandGetErrorString(caffe_status)); \
    }                                                                                \
  } while (0)

/// A loop over [0, n) in which all threads of a kernel share.
#define CUDA_KERNEL_LOOP(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

/// Behind the start of a kernel: throws Error if it could not be started.
#define CUDA_POST_KERNEL_CHECK CUDA_CHECK(cudaPeekAtLastError())

namespace caffe {

inline const char* cublasGetErrorString(cublasStatus_t error) {
  switch (error) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "an unknown status";
  }
}

inline const char* curandGetErrorString(curandStatus_t error) {
  switch (error) {
    case CURAND_STATUS_SUCCESS:
      return "CURAND_STATUS_SUCCESS";
    case CURAND_STATUS_VERSION_MISMATCH:
      return "CURAND_STATUS_VERSION_MISMATCH";
    case CURAND_STATUS_NOT_INITIALIZED:
      return "CURAND_STATUS_NOT_INITIALIZED";
    case CURAND_STATUS_ALLOCATION_FAILED:
      return "CURAND_STATUS_ALLOCATION_FAILED";
    case CURAND_STATUS_TYPE_ERROR:
      return "CURAND_STATUS_TYPE_ERROR";
    case CURAND_STATUS_OUT_OF_RANGE:
      return "CURAND_STATUS_OUT_OF_RANGE";
    case CURAND_STATUS_LENGTH_NOT_MULTIPLE:
      return "CURAND_STATUS_LENGTH_NOT_MULTIPLE";
    case CURAND_STATUS_DOUBLE_PRECISION_REQUIRED:
      return "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED";
    case CURAND_STATUS_LAUNCH_FAILURE:
      return "CURAND_STATUS_LAUNCH_FAILURE";
    case CURAND_STATUS_PREEXISTING_FAILURE:
      return "CURAND_STATUS_PREEXISTING_FAILURE";
    case CURAND_STATUS_INITIALIZATION_FAILED:
      return "CURAND_STATUS_INITIALIZATION_FAILED";
    case CURAND_STATUS_ARCH_MISMATCH:
      return "CURAND_STATUS_ARCH_MISMATCH";
    case CURAND_STATUS_INTERNAL_ERROR:
      return "CURAND_STATUS_INTERNAL_ERROR";
    default:
      return "an unknown status";
  }
}

/// Threads in a block, and blocks for N elements.
const int CAFFE_CUDA_NUM_THREADS = 512;
inline int CAFFE_GET_BLOCKS(const int N) {
  return (N + CAFFE_CUDA_NUM_THREADS - 1) / CAFFE_CUDA_NUM_THREADS;
}

}  // namespace caffe

#endif

#endif  // CAFFE_UTIL_DEVICE_ALTERNATE_HPP_
