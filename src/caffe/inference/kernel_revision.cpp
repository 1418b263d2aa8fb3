#include "kernel_revision.hpp"

#include "caffe/kernel_revision.inc"

namespace caffe {
namespace inference {

const char* CpuKernelRevision() { return CAFFE_CPU_KERNELS; }

const char* CudaKernelRevision() { return CAFFE_CUDA_KERNELS; }

}  // namespace inference
}  // namespace caffe
