#ifndef CAFFE_UTIL_GPU_MEMORY_HPP_
#define CAFFE_UTIL_GPU_MEMORY_HPP_

#include <vector>

#include "caffe/common.hpp"

namespace caffe {

/// NVCaffe's manager of device memory. Here each stream has a pool of its own, which needs no
/// scope; programs make one in main().
struct GPUMemory {
  class Scope {
   public:
    /// Throws Error if one of the devices is not there.
    explicit Scope(const std::vector<int>& gpus, bool /*debug*/ = false) {
      for (const int gpu : gpus) Require(Caffe::CheckDevice(gpu), "there is no GPU ", gpu);
    }

    DISABLE_COPY_AND_ASSIGN(Scope);
  };
};

}  // namespace caffe

#endif  // CAFFE_UTIL_GPU_MEMORY_HPP_
