#ifndef CAFFE_CUDA_STREAM_HPP_
#define CAFFE_CUDA_STREAM_HPP_

#include "caffe/context.hpp"

namespace caffe {
namespace cuda {

/// The stream that the calling thread's layers start their kernels on.
inline Stream& CurrentStream() { return Context::Current().stream(); }

}  // namespace cuda
}  // namespace caffe

#endif  // CAFFE_CUDA_STREAM_HPP_
