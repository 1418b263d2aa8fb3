#ifndef CAFFE_KERNELS_CPU_L2_CACHE_HPP_
#define CAFFE_KERNELS_CPU_L2_CACHE_HPP_

#include <unistd.h>

#include <cstddef>

namespace caffe::kernels {

/// Bytes of a core's L2 cache; 1 MB where the system does not say.
inline size_t L2CacheBytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const long found = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (found >= 256 << 10) return static_cast<size_t>(found);
#endif
  return 1 << 20;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_L2_CACHE_HPP_
