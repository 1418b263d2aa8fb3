#ifndef CAFFE_KERNELS_CUDA_POOLING_WINDOWS_HPP_
#define CAFFE_KERNELS_CUDA_POOLING_WINDOWS_HPP_

#include "caffe/kernels/pooling.hpp"
#include "launch.hpp"

// Caffe's pooling windows, for kernels on planes and on channels last.
namespace caffe::cuda {

/// The window of an output on its plane: it begins at (h, w), perhaps in the padding, and covers
/// [h_begin, h_end) x [w_begin, w_end) of the image; averages divide by `divisor`.
struct Window {
  int h, w;
  int h_begin, h_end, w_begin, w_end;
  int divisor;
};

/// A PoolingShape as a kernel argument.
struct Pool {
  int height, width, pooled_height, pooled_width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;

  explicit Pool(const kernels::PoolingShape& s)
      : height(s.height),
        width(s.width),
        pooled_height(s.pooled_height),
        pooled_width(s.pooled_width),
        kernel_h(s.kernel_h),
        kernel_w(s.kernel_w),
        stride_h(s.stride_h),
        stride_w(s.stride_w),
        pad_h(s.pad_h),
        pad_w(s.pad_w) {}

  __host__ __device__ Window WindowAt(int ph, int pw) const {
    const int h = ph * stride_h - pad_h, w = pw * stride_w - pad_w;
    const int h_end = Min(h + kernel_h, height + pad_h), w_end = Min(w + kernel_w, width + pad_w);
    return {h,
            w,
            Max(h, 0),
            Min(h_end, height),
            Max(w, 0),
            Min(w_end, width),
            (h_end - h) * (w_end - w)};
  }
  /// The window of output `o`, counted over all planes.
  __host__ __device__ Window WindowOf(int o) const {
    return WindowAt(o / pooled_width % pooled_height, o % pooled_width);
  }
  /// Where the plane of output `o` begins in the input.
  __host__ __device__ int PlaneOf(int o) const {
    return o / pooled_width / pooled_height * (height * width);
  }
  __host__ __device__ int PositionIn(const Window& window, int h, int w) const {
    return (h - window.h) * kernel_w + (w - window.w);
  }
};

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_POOLING_WINDOWS_HPP_
