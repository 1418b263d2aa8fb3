#include "gpu_queue.hpp"

#include "caffe/device/device_registry.hpp"

namespace caffe::inference::cuda {

std::shared_ptr<GpuQueue> GpuQueue::Make() {
  const std::shared_ptr<GpuQueue> queue(new GpuQueue);
  queue->device_ = CurrentDevice();
  queue->settings_ = Context::Current().settings();
  queue->settings_.mode = Caffe::GPU;
  queue->stream_ = queue->device_->CreateStream();
  return queue;
}

GpuQueue::Scope::Scope(const GpuQueue& queue) : before_(Context::Current().settings()) {
  queue.device_->MakeCurrent();
  Context::Current().Inherit(queue.settings_);
  stream_.emplace(queue.stream_.get());
}

// A thread that computes on another GPU goes on there.
GpuQueue::Scope::~Scope() {
  const bool other = before_.device != Context::Current().settings().device;
  stream_.reset();
  Context::Current().Inherit(before_);
  if (!other || before_.mode != Caffe::GPU) return;
  try {
    Device::Get().MakeCurrent();
  } catch (const Error&) {
    // It will find out at its next call.
  }
}

std::shared_ptr<void> GpuQueue::Allocate(size_t bytes) {
  const Scope scope(*this);
  void* const memory = device_->Allocate(bytes);
  return std::shared_ptr<void>(memory, [queue = shared_from_this(), bytes](void* p) {
    const Scope freeing(*queue);
    queue->device_->Free(p, bytes);
  });
}

}  // namespace caffe::inference::cuda
