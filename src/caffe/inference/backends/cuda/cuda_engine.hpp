#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_ENGINE_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_ENGINE_HPP_

#include <memory>
#include <string>

#include "caffe/inference/backends/runner.hpp"
#include "caffe/inference/backends/target.hpp"

namespace caffe::inference::cuda {

// NVIDIA GPUs. In builds without CUDA all of these throw Error saying so (absent.cpp).

/// Graph::target of what is lowered for a GPU.
constexpr char kTarget[] = "cuda";

/// The calling thread's GPU (Context::settings().device); its kernels prefer channels last. Throws
/// Error where there is none.
const Target& CudaTarget();

/// The fingerprint of the GPU that a plan is for: its name, its architecture, and the library that
/// computes. Throws Error where there is none.
std::string GpuFingerprint();

/// Runs a graph that was lowered for the calling thread's GPU, whichever thread calls it later.
/// Throws Error where there is none, or it has too little memory.
std::unique_ptr<Runner> MakeCudaRunner(std::shared_ptr<const Graph> graph);

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_ENGINE_HPP_
