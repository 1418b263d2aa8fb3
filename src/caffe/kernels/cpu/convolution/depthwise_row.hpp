#ifndef CAFFE_KERNELS_CPU_DEPTHWISE_ROW_HPP_
#define CAFFE_KERNELS_CPU_DEPTHWISE_ROW_HPP_

#include <stddef.h>

namespace caffe::kernels {

constexpr int kMaxDepthwiseRows = 5;

/// A row of outputs of one block of channels (depthwise_rows.inc), each with its own kernel of 3 or
/// 5 columns and at most 5 rows, not dilated; or two neighbouring rows.
struct DepthwiseRow {
  const void* rows[kMaxDepthwiseRows];  ///< input rows under the kernels' rows; null in the padding
  int kernel_rows;
  int output_rows;      ///< 1, or 2 with stride 1
  int width;            ///< of the input
  int pad;              ///< the first window begins at column -pad
  int pixels;           ///< outputs of the row
  int outside;          ///< value of the padding; 0 unless the input is bytes
  const void* weights;  ///< (kernel rows, kernel columns, block): floats, or bytes where it says so
  /// Elements from one pixel to the next: the block, unless channels are last.
  size_t x_pixel, y_pixel, residual_pixel;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_DEPTHWISE_ROW_HPP_
