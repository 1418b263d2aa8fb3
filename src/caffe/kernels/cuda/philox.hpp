#ifndef CAFFE_KERNELS_CUDA_PHILOX_HPP_
#define CAFFE_KERNELS_CUDA_PHILOX_HPP_

#include <cuda_runtime.h>

#include <cstdint>

namespace caffe::cuda {

/// Four random words of 32 bits.
struct RandomWords {
  uint32_t word[4];
};

/// Philox 4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
/// 1, 2, 3", 2011): words that depend only on the seed and the counter, so that each thread
/// computes its own.
__host__ __device__ inline RandomWords Philox(uint64_t seed, uint64_t counter) {
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  RandomWords x = {{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * x.word[0];
    const uint64_t b = uint64_t(0xCD9E8D57u) * x.word[2];
    x = {{static_cast<uint32_t>(b >> 32) ^ x.word[1] ^ key0, static_cast<uint32_t>(b),
          static_cast<uint32_t>(a >> 32) ^ x.word[3] ^ key1, static_cast<uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

/// A number in (0, 1] of 24 random bits.
__host__ __device__ inline float UnitFloat(uint32_t word) {
  return static_cast<float>((word >> 8) + 1) * (1.f / (1 << 24));
}
/// A number in (0, 1] of 53 random bits.
__host__ __device__ inline double UnitDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t(high) << 32 | low) >> 11;
  return static_cast<double>(bits + 1) * (1. / (uint64_t(1) << 53));
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_PHILOX_HPP_
