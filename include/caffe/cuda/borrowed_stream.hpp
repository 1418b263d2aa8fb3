#ifndef CAFFE_CUDA_BORROWED_STREAM_HPP_
#define CAFFE_CUDA_BORROWED_STREAM_HPP_

#include <memory>
#include <string>

#include "caffe/device.hpp"

namespace caffe {
namespace cuda {

/// A stream of the caller's (a cudaStream_t; null is CUDA's default stream), which has to outlive
/// what is returned. In builds with CUDA.
std::unique_ptr<Stream> BorrowStream(void* stream);

/// "9.0": the architecture of the GPU of this number. In builds with CUDA.
std::string ComputeCapability(int device);

}  // namespace cuda
}  // namespace caffe

#endif  // CAFFE_CUDA_BORROWED_STREAM_HPP_
