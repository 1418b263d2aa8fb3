#ifndef CAFFE_CUDA_STOPWATCH_HPP_
#define CAFFE_CUDA_STOPWATCH_HPP_

#include "caffe/device.hpp"
#include "check.hpp"

namespace caffe::cuda {

/// Times an interval of a stream.
class Stopwatch {
 public:
  explicit Stopwatch(const Stream& stream) : stream_(static_cast<cudaStream_t>(stream.handle())) {
    Check(cudaEventCreate(&begin_), "creating a CUDA event");
    Check(cudaEventCreate(&end_), "creating a CUDA event");
  }
  ~Stopwatch() {
    if (begin_) cudaEventDestroy(begin_);
    if (end_) cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void Start() { Check(cudaEventRecord(begin_, stream_), "timing a kernel"); }
  /// Milliseconds since Start; waits for them.
  float Stop() {
    Check(cudaEventRecord(end_, stream_), "timing a kernel");
    Check(cudaEventSynchronize(end_), "timing a kernel");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing a kernel");
    return milliseconds;
  }

 private:
  const cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_STOPWATCH_HPP_
