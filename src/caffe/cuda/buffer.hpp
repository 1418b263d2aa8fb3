#ifndef CAFFE_CUDA_BUFFER_HPP_
#define CAFFE_CUDA_BUFFER_HPP_

#include <cstddef>

#include "caffe/device.hpp"

namespace caffe::cuda {

/// Memory for what is put on `stream`, of the calling thread's device, until it is freed on it:
/// neither waits. Throws Error with the bytes asked for and free when there is no memory.
void* AllocateOn(Stream& stream, size_t size);
void FreeOn(Stream& stream, void* pointer, size_t size) noexcept;

/// Uninitialised device memory for kernels that are started on `stream` while this object lives: it
/// may die as soon as the last of them is started, since memory goes back in the stream's order.
template <typename T>
class Buffer {
 public:
  Buffer(Stream& stream, size_t count)
      : stream_(stream),
        bytes_(count * sizeof(T)),
        data_(static_cast<T*>(AllocateOn(stream, bytes_))) {}
  ~Buffer() { FreeOn(stream_, data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }

 private:
  Stream& stream_;
  const size_t bytes_;
  T* const data_;
};

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_BUFFER_HPP_
