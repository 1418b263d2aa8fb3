#ifndef CAFFE_LAYERS_ON_HOST_HPP_
#define CAFFE_LAYERS_ON_HOST_HPP_

#include <algorithm>
#include <cstring>
#include <vector>

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/strided_copy.hpp"
#include "caffe/operation.hpp"
#include "rows.hpp"

namespace caffe {

/// What passes that move elements are made of, on the host; OnGpu has the same for the GPU.
struct OnHost {
  template <typename T>
  static const T* Read(Tensor& tensor, const Layout& layout = Layout()) {
    return ReadAs<T>(tensor, layout);
  }
  template <typename T>
  static T* Overwrite(Tensor& tensor, const Layout& layout = Layout()) {
    return OverwriteAs<T>(tensor, layout);
  }
  template <typename T>
  static void Clear(size_t count, T* y) {
    kernels::Set(count, AccumulatorType<T>(0), y);
  }
  template <typename T>
  static void CopyStrided(const Shape& shape, const T* x, const kernels::Strides& x_strides, T* y,
                          const kernels::Strides& y_strides) {
    kernels::CopyStrided(shape, x, x_strides, y, y_strides);
  }
  /// `rows` rows of each copy; all of a row are copied before later rows. Threads share elements,
  /// not rows: one image has one row.
  template <typename T>
  static void CopyRows(size_t rows, const std::vector<RowCopy<T>>& copies) {
    constexpr size_t kGrain = 1 << 14;
    size_t length = 0;
    for (const RowCopy<T>& copy : copies) length += copy.length;
    kernels::ParallelFor(rows * length, kGrain, [&](size_t begin, size_t end) {
      size_t start = begin % length;  // in the first row
      for (size_t row = begin / length; begin < end; ++row, start = 0) {
        begin += CopyRow(row, start, end - begin, copies);
      }
    });
  }

 private:
  /// At most `count` elements of a row, from `start` on. Returns how many.
  template <typename T>
  static size_t CopyRow(size_t row, size_t start, size_t count,
                        const std::vector<RowCopy<T>>& copies) {
    size_t done = 0;
    for (const RowCopy<T>& copy : copies) {
      const size_t skipped = std::min(start, copy.length);
      const size_t copied = std::min(copy.length - skipped, count - done);
      start -= skipped;
      if (copied == 0) continue;
      std::memcpy(copy.y + row * copy.y_stride + skipped, copy.x + row * copy.x_stride + skipped,
                  copied * sizeof(T));
      done += copied;
    }
    return done;
  }
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_ON_HOST_HPP_
