#ifndef CAFFE_GPU_FALLBACK_HPP_
#define CAFFE_GPU_FALLBACK_HPP_

#include <string>

namespace caffe {

/// Whether the CPU computes where a GPU is asked for and none can be used. If not (the default),
/// asking is an Error. The environment's CAFFE_GPU_FALLBACK=1 and set_gpu_fallback(true) say so;
/// what was set last holds. Thread-safe.
bool gpu_fallback();
void set_gpu_fallback(bool fall_back);

/// For what asks for a GPU: true if one can be used. If none can, false with gpu_fallback(), after
/// the process's one warning; otherwise throws Error with the reason and the ways out.
/// `asked_by` begins the message: "-gpu 0", "solver.prototxt: solver_mode: GPU".
bool RequireGpu(const std::string& asked_by);

}  // namespace caffe

#endif  // CAFFE_GPU_FALLBACK_HPP_
