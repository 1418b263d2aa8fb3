#ifndef CAFFE_CUDA_CONVERTED_HPP_
#define CAFFE_CUDA_CONVERTED_HPP_

#include <memory>
#include <type_traits>

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"

namespace caffe::cuda {

// Products want operands of one type. Where a layer's activations and gradients are of two, those
// of 16 bits are widened into scratch memory of the device.

/// The type in which a product of T and D is computed.
template <typename T, typename D>
using ProductType = std::conditional_t<std::is_same<T, D>::value, T, AccumulatorType<D>>;

/// `count` values of device memory as type To.
template <typename To, typename From>
class ReadAsType {
 public:
  ReadAsType(Stream& stream, int count, const From* values) {
    if constexpr (std::is_same<To, From>::value) {
      data_ = values;
    } else {
      buffer_ = std::make_unique<Buffer<To>>(stream, count);
      Convert(stream, count, values, buffer_->get());
      data_ = buffer_->get();
    }
  }
  const To* get() const { return data_; }

 private:
  std::unique_ptr<Buffer<To>> buffer_;
  const To* data_;
};

/// Where values of type From are written that are wanted as To; Finish brings them there.
template <typename From, typename To>
class WriteAsType {
 public:
  WriteAsType(Stream& stream, int count, To* values)
      : stream_(stream), count_(count), values_(values) {
    if constexpr (!std::is_same<From, To>::value) {
      buffer_ = std::make_unique<Buffer<From>>(stream, count);
    }
  }
  From* get() const {
    if constexpr (std::is_same<From, To>::value) {
      return values_;
    } else {
      return buffer_->get();
    }
  }
  void Finish() {
    if constexpr (!std::is_same<From, To>::value) {
      Convert(stream_, count_, static_cast<const From*>(buffer_->get()), values_);
    }
  }

 private:
  Stream& stream_;
  const int count_;
  To* const values_;
  std::unique_ptr<Buffer<From>> buffer_;
};

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_CONVERTED_HPP_
