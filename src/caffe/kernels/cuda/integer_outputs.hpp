#ifndef CAFFE_KERNELS_CUDA_INTEGER_OUTPUTS_HPP_
#define CAFFE_KERNELS_CUDA_INTEGER_OUTPUTS_HPP_

// For .cu files: a thread for each byte of a blob.

#include "caffe/kernels/cuda/integers.hpp"
#include "lanes.hpp"

namespace caffe::cuda {

struct Place {
  int n, c, s;  // image, channel, position
};

/// The elements of a blob, numbered in memory order as far as it is dense.
struct Places {
  explicit Places(const Integers& blob)
      : images(blob.images),
        channels(blob.channels),
        positions(blob.positions),
        channels_last(blob.position != 1) {}

  int count() const { return CountedWork(double(images) * channels * positions); }
  __host__ __device__ Place Of(int i) const {
    if (channels_last) return {i / channels / positions, i % channels, i / channels % positions};
    return {i / positions / channels, i / positions % channels, i % positions};
  }

  int images, channels, positions;
  bool channels_last;
};

__host__ __device__ inline void PutByte(const Integers& y, const Place& at, int32_t value) {
  static_cast<uint8_t*>(y.data)[y.PlaceOf(at.n, at.c, at.s)] = static_cast<uint8_t>(value);
}

/// y = f(image, channel, position) for each of its elements.
template <typename F>
void ForEachOutput(Stream& stream, const Integers& y, F f) {
  const Places places(y);
  ForEach(stream, places.count(), [=] __host__ __device__(int i) {
    const Place at = places.Of(i);
    PutByte(y, at, f(at.n, at.c, at.s));
  });
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_INTEGER_OUTPUTS_HPP_
