#ifndef CAFFE_CUDA_BORROWED_STREAM_HPP_
#define CAFFE_CUDA_BORROWED_STREAM_HPP_

#include <memory>
#include <string>

#include "caffe/device.hpp"

namespace caffe::cuda {

/// Wraps the caller's stream (a cudaStream_t; null is CUDA's default stream), which has to outlive
/// the result. Throws Error in builds without CUDA. The tests' device, which has no such streams,
/// returns one of its own, whose destructor waits for it.
std::unique_ptr<Stream> BorrowStream(void* stream);

/// The number of the GPU in whose memory an address is (managed memory is that of the GPU that it
/// was allocated on); -1 for the host's, or unknown memory. Throws Error in builds without CUDA.
/// The tests' device takes all addresses for its own.
int GpuOf(const void* memory);

/// "9.0": the architecture of the GPU of this number. In builds with CUDA.
std::string ComputeCapability(int device);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_BORROWED_STREAM_HPP_
