#ifndef CAFFE_INFERENCE_KERNEL_REVISION_HPP_
#define CAFFE_INFERENCE_KERNEL_REVISION_HPP_

namespace caffe::inference {

/// Hashes of the kernels' sources and their compiler (cmake/KernelRevision.cmake): times that were
/// measured with others do not count.
const char* CpuKernelRevision();
const char* CudaKernelRevision();

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_KERNEL_REVISION_HPP_
