#include "caffe/kernels/integer_pooling.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {
namespace {

/// The middle of the range of T; halves are rounded away from it.
template <typename T>
constexpr int32_t kMiddle = std::is_signed<T>::value ? 0 : 128;

template <typename T>
constexpr int32_t kMinOf = std::numeric_limits<T>::min();
template <typename T>
constexpr int32_t kMaxOf = std::numeric_limits<T>::max();

/// The divisor of `size` (T. Granlund and P. L. Montgomery, Division by invariant integers using
/// multiplication, 1994).
WholeDivisor DivisorOf(int32_t size) {
  int bits = 0;
  while ((int64_t{1} << bits) < size) ++bits;
  const uint64_t multiplier = (uint64_t{1} << (31 + bits)) / static_cast<uint32_t>(size) + 1;
  return {static_cast<uint32_t>(multiplier), 31 + bits, size};
}

/// Calls f(the window's first position in x, rows, columns, its size by Caffe's rule, first
/// output).
template <typename Function>
void ForEachWindow(const PoolingShape& s, int block, Function&& f) {
  const size_t work = size_t(s.pooled_width) * s.kernel_h * s.kernel_w * block;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, work));
  ParallelFor(s.planes * s.pooled_height, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t plane = i / s.pooled_height;
      const int row = static_cast<int>(i % s.pooled_height) * s.stride_h - s.pad_h;
      const int bottom = std::min(row + s.kernel_h, s.height + s.pad_h);
      const int top = std::max(row, 0), rows = std::max(0, std::min(bottom, s.height) - top);
      for (int v = 0; v < s.pooled_width; ++v) {
        const int column = v * s.stride_w - s.pad_w;
        const int right = std::min(column + s.kernel_w, s.width + s.pad_w);
        const int left = std::max(column, 0);
        const int columns = std::max(0, std::min(right, s.width) - left);
        f((plane * s.input_plane() + size_t(top) * s.width + left) * block, rows, columns,
          (bottom - row) * (right - column), (i * s.pooled_width + v) * block);
      }
    }
  });
}

/// The same for blocks of 8 or 16, vectorised.
template <typename T>
void AverageOfBlocks(const PoolingShape& shape, int block, int32_t zero_point, ByteRange range,
                     const T* x, T* y) {
  const auto mean = ChosenKernels().integers.mean[std::is_unsigned<T>::value][block / 16];
  MeanWindow all{};
  all.pitch = size_t(shape.width) * block;
  all.middle = kMiddle<T>;
  all.least = range.least;
  all.most = range.most;
  all.divisor = DivisorOf(shape.kernel_h * shape.kernel_w);
  ForEachWindow(shape, block, [&](size_t from, int rows, int columns, int size, size_t to) {
    MeanWindow window = all;
    window.rows = rows;
    window.columns = columns;
    window.start = (size - rows * columns) * zero_point - size * kMiddle<T>;
    if (size != window.divisor.size) window.divisor = DivisorOf(size);
    mean(window, x + from, y + to);
  });
}

}  // namespace

template <typename T>
void MaxPoolIntegers(const PoolingShape& shape, int block, ByteRange range, const T* x, T* y) {
  // The blocked kernel does not handle -128 in int8_t.
  const bool is_whole = range.least <= kMinOf<T> && range.most >= kMaxOf<T>;
  if ((block == 8 || block == 16) && std::is_unsigned<T>::value && is_whole) {
    return BlockedMaxPoolingForward(shape, block, x, y);
  }
  ForEachWindow(shape, block, [&](size_t from, int rows, int columns, int, size_t to) {
    for (int k = 0; k < block; ++k) {
      int32_t largest = range.least;
      for (int h = 0; h < rows; ++h) {
        for (int v = 0; v < columns; ++v) {
          largest = std::max<int32_t>(largest, x[from + (size_t(h) * shape.width + v) * block + k]);
        }
      }
      y[to + k] = static_cast<T>(std::min(largest, range.most));
    }
  });
}

template <typename T>
void AveragePoolIntegers(const PoolingShape& shape, int block, int32_t zero_point, ByteRange range,
                         const T* x, T* y) {
  if (block == 8 || block == 16) {
    return AverageOfBlocks(shape, block, zero_point, range, x, y);
  }
  ForEachWindow(shape, block, [&](size_t from, int rows, int columns, int size, size_t to) {
    for (int k = 0; k < block; ++k) {
      int32_t sum = (size - rows * columns) * (zero_point - kMiddle<T>);
      for (int h = 0; h < rows; ++h) {
        for (int v = 0; v < columns; ++v) {
          sum += x[from + (size_t(h) * shape.width + v) * block + k] - kMiddle<T>;
        }
      }
      const int32_t mean = RoundedMean(sum, size, kMiddle<T>);
      y[to + k] = static_cast<T>(std::clamp(mean, range.least, range.most));
    }
  });
}

template void MaxPoolIntegers(const PoolingShape&, int, ByteRange, const int8_t*, int8_t*);
template void MaxPoolIntegers(const PoolingShape&, int, ByteRange, const uint8_t*, uint8_t*);
template void AveragePoolIntegers(const PoolingShape&, int, int32_t, ByteRange, const int8_t*,
                                  int8_t*);
template void AveragePoolIntegers(const PoolingShape&, int, int32_t, ByteRange, const uint8_t*,
                                  uint8_t*);

}  // namespace caffe::kernels
