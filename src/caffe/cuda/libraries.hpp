#ifndef CAFFE_CUDA_LIBRARIES_HPP_
#define CAFFE_CUDA_LIBRARIES_HPP_

#include <string>

#include "caffe/device.hpp"

namespace caffe::cuda {

/// "cuDNN 9.19.0, cuBLASLt 13.1.0": the libraries used in addition to this library's own kernels,
/// "no cuDNN" where one cannot be loaded. In builds with CUDA.
std::string LibraryVersions();

/// Why GPUs cannot train together by NCCL; empty if they can. Where a driver is installed CUDA is
/// not started, so that a program may still be forked: the first use finds out whether there is a
/// GPU, too. In builds with CUDA.
std::string WhyNoNccl();

/// Makes what cuDNN has for each thread and GPU for the calling thread and its present one: it may
/// not come to be while the thread records. Nothing on the tests' device, or without cuDNN.
void StartLibraries(const Stream& stream);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_LIBRARIES_HPP_
