#ifndef CAFFE_KERNELS_CPU_WINDOW_ROW_HPP_
#define CAFFE_KERNELS_CPU_WINDOW_ROW_HPP_

#include <cstddef>

namespace caffe::kernels {

/// A window of pooling within the image: rows `pitch` elements apart, of positions `pixel` elements
/// apart, with `lanes` numbers each (a multiple of 8).
struct PoolingWindow {
  int rows, columns;
  size_t pitch, pixel;
  int lanes;
};

/// Such windows side by side: each begins `step` elements after the previous one, its result
/// `y_pixel` elements after.
struct WindowRow : PoolingWindow {
  int outputs;
  size_t step, y_pixel;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_WINDOW_ROW_HPP_
