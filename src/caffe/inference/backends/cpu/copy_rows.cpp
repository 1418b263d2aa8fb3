#include "copy_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "caffe/kernels/parallel.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kBytesOfThread = 1 << 16;

/// `bytes`: a number, or a constant for copies without a call.
template <typename Size>
void CopyEach(size_t rows, Size bytes, const char* x, size_t x_stride, char* y, size_t y_stride) {
  for (size_t i = 0; i < rows; ++i) std::memcpy(y + i * y_stride, x + i * x_stride, bytes);
}

void CopySome(size_t rows, size_t bytes, const char* x, size_t x_stride, char* y, size_t y_stride) {
  const auto copy = [&](auto size) { CopyEach(rows, size, x, x_stride, y, y_stride); };
  switch (bytes) {
    case 8:
      return copy(std::integral_constant<size_t, 8>());
    case 16:
      return copy(std::integral_constant<size_t, 16>());
    case 32:
      return copy(std::integral_constant<size_t, 32>());
    case 64:
      return copy(std::integral_constant<size_t, 64>());
    default:
      copy(bytes);
  }
}

}  // namespace

void CopyRows(size_t rows, size_t bytes, const void* x, size_t x_stride, void* y, size_t y_stride) {
  if (rows == 0 || bytes == 0) return;
  const char* from = static_cast<const char*>(x);
  char* to = static_cast<char*>(y);
  if (x_stride == bytes && y_stride == bytes) {
    bytes *= rows;
    rows = 1;
  }
  if (bytes < kBytesOfThread) {
    kernels::ParallelFor(rows, std::max<size_t>(1, kBytesOfThread / bytes),
                         [&](size_t begin, size_t end) {
                           CopySome(end - begin, bytes, from + begin * x_stride, x_stride,
                                    to + begin * y_stride, y_stride);
                         });
    return;
  }
  for (size_t i = 0; i < rows; ++i) {
    kernels::ParallelFor(bytes, kBytesOfThread, [&](size_t begin, size_t end) {
      std::memcpy(to + i * y_stride + begin, from + i * x_stride + begin, end - begin);
    });
  }
}

}  // namespace caffe::inference::cpu
