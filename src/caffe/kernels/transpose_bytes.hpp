#ifndef CAFFE_KERNELS_TRANSPOSE_BYTES_HPP_
#define CAFFE_KERNELS_TRANSPOSE_BYTES_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe::kernels {

/// y[column, row] = x[row, column] of bytes, with `x_row` bytes between the rows of x and `y_row`
/// between those of y, which do not overlap. Runs on the calling thread.
void TransposeBytes(size_t rows, size_t columns, const uint8_t* x, size_t x_row, uint8_t* y,
                    size_t y_row);
/// The same of elements of 16 and of 32 bits, with so many elements between the rows.
void TransposeHalves(size_t rows, size_t columns, const uint16_t* x, size_t x_row, uint16_t* y,
                     size_t y_row);
void TransposeWords(size_t rows, size_t columns, const uint32_t* x, size_t x_row, uint32_t* y,
                    size_t y_row);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_TRANSPOSE_BYTES_HPP_
