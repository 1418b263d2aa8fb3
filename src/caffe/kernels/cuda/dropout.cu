#include "caffe/kernels/cuda/dropout.hpp"

#include "caffe/kernels/instances.hpp"
#include "map.hpp"
#include "philox.hpp"

namespace caffe::cuda {
void BernoulliMask(Stream& stream, int n, uint64_t key, double keep, uint8_t* mask) {
  const double threshold = keep * 4294967296.;
  ForEach(stream, (n - 1) / 4 + 1, [=] __host__ __device__(int i) {
    const RandomWords random = Philox(key, i);
    for (int k = 0; k < 4 && 4 * i + k < n; ++k) mask[4 * i + k] = random.word[k] < threshold;
  });
}

template <typename T>
void MaskScale(Stream& stream, int n, const uint8_t* mask, AccumulatorType<T> scale, const T* x,
               T* y) {
  Map(stream, n, mask, x, y, [=] __host__ __device__(uint8_t kept, Math<T> value) {
    return kept ? scale * value : Math<T>(0);
  });
}

#define INSTANTIATE(T) \
  template void MaskScale(Stream&, int, const uint8_t*, AccumulatorType<T>, const T*, T*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)

}  // namespace caffe::cuda
