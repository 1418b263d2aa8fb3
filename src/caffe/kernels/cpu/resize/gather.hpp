#ifndef CAFFE_KERNELS_CPU_GATHER_HPP_
#define CAFFE_KERNELS_CPU_GATHER_HPP_

#include "caffe/kernels/cpu/elementwise/chunks.hpp"

namespace caffe::kernels {

/// y[i] = x[i * stride] for i < n, as C.
template <typename T, typename C>
void Gather(int n, const T* x, int stride, C* y) {
  if (stride == 1) {
    Convert(n, x, y);
  } else if constexpr (std::is_same<T, C>::value) {
    if (stride == 2) {  // a constant, for vectorisation
      for (int i = 0; i < n; ++i) y[i] = x[2 * i];
    } else {
      for (int i = 0; i < n; ++i) y[i] = x[size_t(i) * stride];
    }
  } else {
    C buffer[kChunk];
    const int step = std::max(1, static_cast<int>(kChunk) / stride);
    for (int i = 0; i < n; i += step) {
      const int count = std::min(step, n - i);
      Convert((count - 1) * size_t(stride) + 1, x + size_t(i) * stride, buffer);
      for (int k = 0; k < count; ++k) y[i + k] = buffer[k * stride];
    }
  }
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_GATHER_HPP_
