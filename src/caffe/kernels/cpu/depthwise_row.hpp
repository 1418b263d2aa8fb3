#ifndef CAFFE_KERNELS_CPU_DEPTHWISE_ROW_HPP_
#define CAFFE_KERNELS_CPU_DEPTHWISE_ROW_HPP_

#include <stddef.h>

namespace caffe {
namespace kernels {

constexpr int kMostDepthwiseRows = 5;

/// A row of outputs of one block of channels, each of which has its own kernel, of 3 or 5 columns
/// without gaps and of 5 rows at most (depthwise_rows.inc).
struct DepthwiseRow {
  const void* rows[kMostDepthwiseRows];  ///< of the input under the kernel's; null in the padding
  int kernel_rows;
  int width;             ///< of the input
  int pad;               ///< the first window begins at column -pad
  int pixels;            ///< outputs of the row
  const float* weights;  ///< (kernel rows, kernel columns, block)
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CPU_DEPTHWISE_ROW_HPP_
