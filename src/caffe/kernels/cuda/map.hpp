#ifndef CAFFE_KERNELS_CUDA_MAP_HPP_
#define CAFFE_KERNELS_CUDA_MAP_HPP_

// For .cu files: functions of the elements of one or two arrays. These are limited by memory
// bandwidth, which needs words of 16 bytes: each thread takes kLanes elements.

#include "lanes.hpp"

namespace caffe::cuda {

/// As on the host: with slope 0, -inf becomes 0, whereas 0 * -inf would be NaN.
template <typename F>
__host__ __device__ inline F LeakyRelu(F slope, F x) {
  return x < 0 ? (slope == 0 ? F(0) : slope * x) : x;
}

inline bool BeginsAtWord(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % WordBytes(16) == 0;
}

template <int V, typename X, typename Y, typename F>
void MapLanes(Stream& stream, int n, const X* x, Y* y, F f) {
  const int whole = n / V;
  ForEach(stream, whole + n % V, [=] __host__ __device__(int i) {
    if (i >= whole) {  // after the last V, one by one
      const int at = whole * V + i - whole;
      Store(y + at, f(Load(x + at)));
      return;
    }
    X from[V];
    Y to[V];
    ReadLanes(x + i * V, from);
    for (int v = 0; v < V; ++v) Store(to + v, f(Load(from + v)));
    WriteLanes(to, y + i * V);
  });
}

template <int V, typename X, typename Z, typename Y, typename F>
void MapLanes(Stream& stream, int n, const X* x, const Z* z, Y* y, F f) {
  const int whole = n / V;
  ForEach(stream, whole + n % V, [=] __host__ __device__(int i) {
    if (i >= whole) {
      const int at = whole * V + i - whole;
      Store(y + at, f(Load(x + at), Load(z + at)));
      return;
    }
    X first[V];
    Z second[V];
    Y to[V];
    ReadLanes(x + i * V, first);
    ReadLanes(z + i * V, second);
    for (int v = 0; v < V; ++v) Store(to + v, f(Load(first + v), Load(second + v)));
    WriteLanes(to, y + i * V);
  });
}

/// y[i] = f(x[i]) for i in [0, n). y may be x.
template <typename X, typename Y, typename F>
void Map(Stream& stream, int n, const X* x, Y* y, F f) {
  WithLanes(BeginsAtWord(x) && BeginsAtWord(y),
            [&](auto lanes) { MapLanes<decltype(lanes)::value>(stream, n, x, y, f); });
}

/// y[i] = f(x[i], z[i]) for i in [0, n). y may be x or z.
template <typename X, typename Z, typename Y, typename F>
void Map(Stream& stream, int n, const X* x, const Z* z, Y* y, F f) {
  WithLanes(BeginsAtWord(x) && BeginsAtWord(z) && BeginsAtWord(y),
            [&](auto lanes) { MapLanes<decltype(lanes)::value>(stream, n, x, z, y, f); });
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_MAP_HPP_
