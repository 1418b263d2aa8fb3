#ifndef CAFFE_TOOLS_GPU_FALLBACK_FLAG_HPP_
#define CAFFE_TOOLS_GPU_FALLBACK_FLAG_HPP_

#include <gflags/gflags.h>

#include "caffe/gpu_fallback.hpp"
#include "command_line.hpp"

DEFINE_bool(gpu_fallback, false,
            "Compute on the CPU where a GPU is asked for and none can be used, as "
            "CAFFE_GPU_FALLBACK=1 in the environment does.");

namespace caffe {

/// Lets the command line decide where it says something.
inline void ApplyGpuFallbackFlag() {
  if (IsGiven("gpu_fallback")) set_gpu_fallback(FLAGS_gpu_fallback);
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_GPU_FALLBACK_FLAG_HPP_
