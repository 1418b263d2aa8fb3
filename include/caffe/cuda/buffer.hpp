#ifndef CAFFE_CUDA_BUFFER_HPP_
#define CAFFE_CUDA_BUFFER_HPP_

#include <cstddef>
#include <memory>

#include "caffe/device.hpp"

namespace caffe {
namespace cuda {

/// Uninitialised device memory for kernels that are started on `stream`, the calling thread's own,
/// while this object lives: it may die as soon as the last of them is started, since memory goes
/// back in the stream's order.
template <typename T>
class Buffer {
 public:
  Buffer(Stream& /*stream*/, size_t count)
      : device_(Device::Get()),
        bytes_(count * sizeof(T)),
        data_(static_cast<T*>(device_.Allocate(bytes_))) {}
  ~Buffer() { device_.Free(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }

 private:
  Device& device_;
  const size_t bytes_;
  T* const data_;
};

}  // namespace cuda
}  // namespace caffe

#endif  // CAFFE_CUDA_BUFFER_HPP_
