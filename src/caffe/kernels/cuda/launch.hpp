#ifndef CAFFE_KERNELS_CUDA_LAUNCH_HPP_
#define CAFFE_KERNELS_CUDA_LAUNCH_HPP_

// For .cu files. A kernel of this library is a __host__ __device__ lambda that computes one
// element, or one term of a sum, handed to one of the functions below. On a stream of a GPU they
// launch it; on a stream without a handle (the tests' device, whose memory is the host's) they run
// the same lambda in a loop, so that kernels are tested on machines without a GPU.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "caffe/cuda/check.hpp"
#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

constexpr int kThreads = 256;     // per block, a power of two
constexpr int kMaxBlocks = 4096;  // enough to fill any GPU several times; the rest is a loop

/// float for float and float16, double for double: the type of kernels' arithmetic.
template <typename T>
using Math = AccumulatorType<T>;

template <typename T>
__host__ __device__ inline T Load(const T* x) {
  return *x;
}
__host__ __device__ inline float Load(const float16* x) {
#ifdef __CUDA_ARCH__
  return __half2float(*reinterpret_cast<const __half*>(x));
#else
  return static_cast<float>(*x);
#endif
}
template <typename T, typename Value>
__host__ __device__ inline void Store(T* y, Value value) {
  *y = static_cast<T>(value);
}
template <typename Value>
__host__ __device__ inline void Store(float16* y, Value value) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<__half*>(y) = __float2half_rn(static_cast<float>(value));
#else
  *y = float16(static_cast<float>(value));
#endif
}

template <typename T>
__host__ __device__ inline T Max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
__host__ __device__ inline T Min(T a, T b) {
  return b < a ? b : a;
}

inline cudaStream_t Handle(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.handle());
}

template <typename Body>
__global__ void ForEachKernel(int count, Body body) {
  const int stride = gridDim.x * blockDim.x;
  // Unsigned, so that stepping past INT_MAX is well-defined.
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < unsigned(count); i += stride) {
    body(static_cast<int>(i));
  }
}

/// body(i) for i in [0, count), in any order.
template <typename Body>
void ForEach(Stream& stream, int count, Body body) {
  if (count <= 0) return;
  if (!stream.handle()) {
    stream.RunOnHost([count, body] {
      for (int i = 0; i < count; ++i) body(i);
    });
    return;
  }
  const int blocks = std::min((count - 1) / kThreads + 1, kMaxBlocks);
  ForEachKernel<<<blocks, kThreads, 0, Handle(stream)>>>(count, body);
  Check(cudaGetLastError(), "starting a GPU kernel");
}

template <typename Value, typename Map, typename Combine, typename Finish>
__global__ void ReduceRowsKernel(int rows, int columns, Value identity, Map map, Combine combine,
                                 Finish finish) {
  __shared__ __align__(16) unsigned char memory[sizeof(Value) * kThreads];
  Value* partial = reinterpret_cast<Value*>(memory);
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    Value value = identity;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
      value = combine(value, map(row, column));
    }
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        partial[threadIdx.x] = combine(partial[threadIdx.x], partial[threadIdx.x + half]);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) finish(row, partial[0]);
    __syncthreads();
  }
}

/// finish(row, combined) for each row in [0, rows), where combined is map(row, 0), map(row, 1), ...
/// map(row, columns - 1) reduced by `combine`, which must be associative and commutative, with
/// `identity` as its neutral element. Value is a plain struct or number. A block of threads shares
/// a row; few columns waste threads.
template <typename Value, typename Map, typename Combine, typename Finish>
void ReduceRows(Stream& stream, int rows, int columns, Value identity, Map map, Combine combine,
                Finish finish) {
  if (rows <= 0) return;
  if (!stream.handle()) {
    stream.RunOnHost([=] {
      for (int row = 0; row < rows; ++row) {
        Value value = identity;
        for (int column = 0; column < columns; ++column) {
          value = combine(value, map(row, column));
        }
        finish(row, value);
      }
    });
    return;
  }
  int threads = 32;
  while (threads < kThreads && threads < columns) threads *= 2;
  ReduceRowsKernel<<<std::min(rows, kMaxBlocks), threads, 0, Handle(stream)>>>(
      rows, columns, identity, map, combine, finish);
  Check(cudaGetLastError(), "starting a GPU kernel");
}

/// ReduceRows for sums: finish(row, sum of map(row, column)).
template <typename Value, typename Map, typename Finish>
void SumRows(Stream& stream, int rows, int columns, Map map, Finish finish) {
  ReduceRows(
      stream, rows, columns, Value(0), map,
      [] __host__ __device__(Value a, Value b) { return a + b; }, finish);
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_LAUNCH_HPP_
