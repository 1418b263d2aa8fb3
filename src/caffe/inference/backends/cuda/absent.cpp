// Stands for the GPU backend in builds without CUDA.
#include "caffe/device.hpp"
#include "caffe/error.hpp"
#include "cuda_engine.hpp"

namespace caffe::inference::cuda {

const Target& CudaTarget() { Fail(Device::WhyNone()); }
std::string GpuFingerprint() { Fail(Device::WhyNone()); }
std::unique_ptr<Runner> MakeCudaRunner(std::shared_ptr<const Graph>) { Fail(Device::WhyNone()); }

}  // namespace caffe::inference::cuda
