#ifndef CAFFE_LAYERS_ON_GPU_HPP_
#define CAFFE_LAYERS_ON_GPU_HPP_

#include <algorithm>

#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/operation.hpp"
#include "rows.hpp"

namespace caffe {

/// OnHost on the current stream of the GPU.
struct OnGpu {
  template <typename T>
  static const T* Read(Tensor& tensor, const Layout& layout = Layout()) {
    return static_cast<const T*>(tensor.Read(kElementType<T>, layout).gpu_data());
  }
  template <typename T>
  static T* Overwrite(Tensor& tensor, const Layout& layout = Layout()) {
    return static_cast<T*>(tensor.Overwrite(kElementType<T>, layout).overwrite_gpu_data());
  }
  template <typename T>
  static void Clear(size_t count, T* y) {
    cuda::Fill(cuda::CurrentStream(), static_cast<int>(count), 0, y);
  }
  template <typename T>
  static void CopyStrided(const Shape& shape, const T* x, const kernels::Strides& x_strides, T* y,
                          const kernels::Strides& y_strides) {
    cuda::CopyStrided(cuda::CurrentStream(), shape, x, x_strides, y, y_strides);
  }
  template <typename T>
  static void CopyRows(size_t rows, const std::vector<RowCopy<T>>& copies) {
    for (const RowCopy<T>& copy : copies) {
      cuda::CopyRows(cuda::CurrentStream(), static_cast<int>(rows), static_cast<int>(copy.length),
                     copy.x, static_cast<int>(copy.x_stride), copy.y,
                     static_cast<int>(copy.y_stride));
    }
  }
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_ON_GPU_HPP_
