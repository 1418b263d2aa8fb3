#include "caffe/kernels/cuda/dropout.hpp"

#include "launch.hpp"

namespace caffe {
namespace cuda {
namespace {

/// Four random numbers of 32 bits.
struct Quadruple {
  uint32_t word[4];
};

/// Number `counter` of the sequence of `key`.
__host__ __device__ inline Quadruple Philox(uint64_t counter, uint64_t key) {
  Quadruple c = {{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}};
  uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * c.word[0], b = uint64_t(0xCD9E8D57u) * c.word[2];
    c = {{static_cast<uint32_t>(b >> 32) ^ c.word[1] ^ low, static_cast<uint32_t>(b),
          static_cast<uint32_t>(a >> 32) ^ c.word[3] ^ high, static_cast<uint32_t>(a)}};
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return c;
}

}  // namespace

void BernoulliMask(Stream& stream, int n, uint64_t key, double keep, uint8_t* mask) {
  const double threshold = keep * 4294967296.;
  ForEach(stream, (n - 1) / 4 + 1, [=] __host__ __device__(int i) {
    const Quadruple random = Philox(i, key);
    for (int k = 0; k < 4 && 4 * i + k < n; ++k) mask[4 * i + k] = random.word[k] < threshold;
  });
}

template <typename T>
void MaskScale(Stream& stream, int n, const uint8_t* mask, AccumulatorType<T> scale, const T* x,
               T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    Store(y + i, mask[i] ? scale * Load(x + i) : Math<T>(0));
  });
}

#define INSTANTIATE(T) \
  template void MaskScale(Stream&, int, const uint8_t*, AccumulatorType<T>, const T*, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(float16)

}  // namespace cuda
}  // namespace caffe
