#ifndef CAFFE_CUDA_PINNED_MEMORY_HPP_
#define CAFFE_CUDA_PINNED_MEMORY_HPP_

#include <cstddef>
#include <memory>

#include "caffe/device.hpp"

namespace caffe::cuda {

/// Zeroed host memory that the GPU of `stream` copies by DMA, faster than other memory and
/// asynchronously. Throws Error where there is none. In builds with CUDA.
std::shared_ptr<void> AllocatePinned(Stream& stream, size_t bytes);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_PINNED_MEMORY_HPP_
