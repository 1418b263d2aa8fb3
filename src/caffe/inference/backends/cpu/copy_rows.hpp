#ifndef CAFFE_INFERENCE_BACKENDS_CPU_COPY_ROWS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_COPY_ROWS_HPP_

#include <cstddef>

namespace caffe::inference::cpu {

/// Copies `rows` rows of `bytes` each, with so many bytes from one row to the next; they do not
/// overlap.
void CopyRows(size_t rows, size_t bytes, const void* x, size_t x_stride, void* y, size_t y_stride);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_COPY_ROWS_HPP_
