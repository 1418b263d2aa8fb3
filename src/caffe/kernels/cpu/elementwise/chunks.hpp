#ifndef CAFFE_KERNELS_CPU_CHUNKS_HPP_
#define CAFFE_KERNELS_CPU_CHUNKS_HPP_

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"

// How one loop over float (or double) serves float16 too: arrays are processed in chunks that fit
// the L1 cache; 16-bit chunks are widened before the loop and narrowed after it.
namespace caffe::kernels {

constexpr size_t kChunk = 1024;         // elements
constexpr size_t kLoopGrain = 1 << 13;  // elements below which a loop stays on one thread

/// The type a loop over operands of these types runs in: double if any of them is.
template <typename... T>
using LoopType = std::conditional_t<(std::is_same<T, double>::value || ...), double, float>;

/// A chunk of an array for reading, as elements of C.
template <typename C, typename T>
class InputChunk {
 public:
  const C* Load(const T* x, size_t n) {
    if constexpr (std::is_same<C, T>::value) {
      return x;
    } else {
      Convert(n, x, buffer_);
      return buffer_;
    }
  }

 private:
  alignas(64) C buffer_[std::is_same<C, T>::value ? 1 : kChunk];
};

/// A chunk of an array for writing.
template <typename C, typename T>
class OutputChunk {
 public:
  C* Begin(T* y) {
    if constexpr (std::is_same<C, T>::value) {
      return y;
    } else {
      (void)y;
      return buffer_;
    }
  }
  /// For loops that update the array.
  C* Load(T* y, size_t n) {
    if constexpr (!std::is_same<C, T>::value) Convert(n, y, buffer_);
    return Begin(y);
  }
  void Store(T* y, size_t n) {
    if constexpr (!std::is_same<C, T>::value) Convert(n, buffer_, y);
  }

 private:
  alignas(64) C buffer_[std::is_same<C, T>::value ? 1 : kChunk];
};

/// Calls f(offset, length) for the chunks of [0, n), several threads taking a part each.
template <typename Function>
void ForEachChunk(size_t n, Function&& f) {
  ParallelFor(n, kLoopGrain, [&f](size_t begin, size_t end) {
    for (size_t offset = begin; offset < end; offset += kChunk) {
      f(offset, std::min(kChunk, end - offset));
    }
  });
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_CHUNKS_HPP_
