#ifndef CAFFE_KERNELS_CPU_WINDOW_ROW_HPP_
#define CAFFE_KERNELS_CPU_WINDOW_ROW_HPP_

#include <cstddef>

namespace caffe::kernels {

/// Windows of pooling side by side, all within the image: each has `rows` rows `pitch` elements
/// apart, of `columns` positions with `lanes` numbers (a multiple of 8), and begins `step` elements
/// after the previous one.
struct WindowRow {
  int outputs, rows, columns;
  size_t pitch, step;
  int lanes;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_WINDOW_ROW_HPP_
