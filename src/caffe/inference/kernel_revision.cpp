#include "kernel_revision.hpp"

#include "caffe/kernel_revision.inc"

namespace caffe::inference {

const char* CpuKernelRevision() { return CAFFE_CPU_KERNELS; }

const char* CudaKernelRevision() { return CAFFE_CUDA_KERNELS; }

}  // namespace caffe::inference
