#ifndef CAFFE_CUDA_STREAM_HPP_
#define CAFFE_CUDA_STREAM_HPP_

#include "caffe/context.hpp"

namespace caffe::cuda {

/// The stream that the calling thread's layers start their kernels on.
inline Stream& CurrentStream() { return Context::Current().stream(); }

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_STREAM_HPP_
