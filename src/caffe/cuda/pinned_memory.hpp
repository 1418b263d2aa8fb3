#ifndef CAFFE_CUDA_PINNED_MEMORY_HPP_
#define CAFFE_CUDA_PINNED_MEMORY_HPP_

#include <cstddef>
#include <memory>

#include "caffe/device.hpp"

namespace caffe::cuda {

/// Memory of the host, zeros, that the GPU of `stream` copies from and to by itself, faster than
/// other memory and while the host goes on. Throws Error where there is none. In builds with CUDA.
std::shared_ptr<void> AllocatePinned(Stream& stream, size_t bytes);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_PINNED_MEMORY_HPP_
