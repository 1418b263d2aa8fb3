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
  /// `rows` rows of each copy; all of a row are copied before later rows.
  template <typename T>
  static void CopyRows(size_t rows, const std::vector<RowCopy<T>>& copies) {
    constexpr size_t kGrain = 1 << 14;
    size_t length = 0;
    for (const RowCopy<T>& copy : copies) length += copy.length;
    const size_t grain = std::max<size_t>(1, kGrain / std::max<size_t>(1, length));
    kernels::ParallelFor(rows, grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        for (const RowCopy<T>& copy : copies) {
          std::memcpy(copy.y + i * copy.y_stride, copy.x + i * copy.x_stride,
                      copy.length * sizeof(T));
        }
      }
    });
  }
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_ON_HOST_HPP_
