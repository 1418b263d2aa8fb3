#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_GPU_QUEUE_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_GPU_QUEUE_HPP_

#include <cstddef>
#include <memory>
#include <optional>

#include "caffe/context.hpp"
#include "caffe/core/stream_scope.hpp"
#include "caffe/device.hpp"

namespace caffe::inference::cuda {

/// A GPU and an own stream on it, on which any thread can work.
class GpuQueue : public std::enable_shared_from_this<GpuQueue> {
 public:
  /// A queue of the calling thread's GPU. Throws Error where there is none.
  static std::shared_ptr<GpuQueue> Make();

  Device& device() const { return *device_; }
  Stream& stream() const { return *stream_; }

  /// While it lives, the calling thread is in GPU mode, on this GPU and stream.
  class Scope {
   public:
    explicit Scope(const GpuQueue& queue);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const Context::Settings before_;
    std::optional<StreamScope> stream_;
  };

  /// Uninitialised memory of the GPU; freed after the work on the stream. Throws Error with the
  /// bytes asked for and free.
  std::shared_ptr<void> Allocate(size_t bytes);

 private:
  GpuQueue() = default;

  std::shared_ptr<Device> device_;
  Context::Settings settings_;
  std::unique_ptr<Stream> stream_;  // ends before its device
};

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_GPU_QUEUE_HPP_
