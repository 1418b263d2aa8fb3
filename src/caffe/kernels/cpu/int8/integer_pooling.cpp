#include "caffe/kernels/integer_pooling.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
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

/// Calls f(the window's first position in x, rows, columns, its size by Caffe's rule, first output,
/// channels): of some channels each where there are few rows of outputs.
template <typename Function>
void ForEachWindow(const PoolingShape& s, const ChannelsLast& pixels, Function&& f) {
  const size_t all_rows = s.planes * s.pooled_height;
  if (all_rows == 0 || pixels.channels == 0) return;
  const size_t groups = std::min(CeilDiv(pixels.channels, 64), CeilDiv(4 * Threads(), all_rows));
  const size_t together =
      groups == 1 ? pixels.channels : RoundUp(CeilDiv(pixels.channels, groups), 64);
  const size_t work = size_t(s.pooled_width) * s.kernel_h * s.kernel_w * together;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, work));
  ParallelFor(all_rows * groups, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t y_row = i / groups, first = i % groups * together;
      if (first >= pixels.channels) continue;
      const size_t channels = std::min(together, pixels.channels - first);
      const size_t plane = y_row / s.pooled_height;
      const int row = static_cast<int>(y_row % s.pooled_height) * s.stride_h - s.pad_h;
      const int bottom = std::min(row + s.kernel_h, s.height + s.pad_h);
      const int top = std::max(row, 0), rows = std::max(0, std::min(bottom, s.height) - top);
      for (int v = 0; v < s.pooled_width; ++v) {
        const int column = v * s.stride_w - s.pad_w;
        const int right = std::min(column + s.kernel_w, s.width + s.pad_w);
        const int left = std::max(column, 0);
        const int columns = std::max(0, std::min(right, s.width) - left);
        const int size = MeanPositions(rows, columns, (bottom - row) * (right - column));
        const size_t from = plane * s.input_plane() + size_t(top) * s.width + left;
        f(from * pixels.x_pixel + first, rows, columns, size,
          (y_row * s.pooled_width + v) * pixels.y_pixel + first, channels);
      }
    }
  });
}

/// Planes of blocks of channels, or of single ones.
ChannelsLast InBlocksOf(int block) {
  const size_t lanes = block;
  return {lanes, lanes, lanes};
}

/// Vectorised, for channels in eights.
template <typename T>
void AverageOfEights(const PoolingShape& shape, const ChannelsLast& pixels, int32_t zero_point,
                     ByteRange range, const T* x, T* y) {
  const auto& mean = ChosenKernels().integers.mean[std::is_unsigned<T>::value];
  MeanWindow all{};
  all.pitch = shape.width * pixels.x_pixel;
  all.pixel = pixels.x_pixel;
  all.middle = kMiddle<T>;
  all.least = range.least;
  all.most = range.most;
  all.divisor = DivisorOf(shape.kernel_h * shape.kernel_w);
  ForEachWindow(shape, pixels,
                [&](size_t from, int rows, int columns, int size, size_t to, size_t channels) {
                  MeanWindow window = all;
                  window.rows = rows;
                  window.columns = columns;
                  window.start = (size - rows * columns) * zero_point - size * kMiddle<T>;
                  if (size != window.divisor.size) window.divisor = DivisorOf(size);
                  size_t lane = 0;
                  for (; lane + 16 <= channels; lane += 16) {
                    mean[1](window, x + from + lane, y + to + lane);
                  }
                  if (lane < channels) mean[0](window, x + from + lane, y + to + lane);
                });
}

template <typename T>
void MaxOfPixels(const PoolingShape& shape, const ChannelsLast& pixels, ByteRange range, const T* x,
                 T* y) {
  ForEachWindow(
      shape, pixels, [&](size_t from, int rows, int columns, int, size_t to, size_t channels) {
        for (size_t k = 0; k < channels; ++k) {
          int32_t largest = range.least;
          for (int h = 0; h < rows; ++h) {
            for (int v = 0; v < columns; ++v) {
              const size_t position = size_t(h) * shape.width + v;
              largest = std::max<int32_t>(largest, x[from + position * pixels.x_pixel + k]);
            }
          }
          y[to + k] = static_cast<T>(std::min(largest, range.most));
        }
      });
}

/// True if the maxima are those of pooling.hpp, which does not handle -128 in int8_t.
template <typename T>
bool IsWholeRange(ByteRange range) {
  return std::is_unsigned<T>::value && range.least <= kMinOf<T> && range.most >= kMaxOf<T>;
}

}  // namespace

template <typename T>
void MaxPoolIntegers(const PoolingShape& shape, int block, ByteRange range, const T* x, T* y) {
  if ((block == 8 || block == 16) && IsWholeRange<T>(range)) {
    return BlockedMaxPoolingForward(shape, block, x, y);
  }
  MaxOfPixels(shape, InBlocksOf(block), range, x, y);
}

template <typename T>
void MaxPoolIntegers(const PoolingShape& shape, const ChannelsLast& channels, ByteRange range,
                     const T* x, T* y) {
  channels.Check();
  if (IsWholeRange<T>(range)) return ChannelsLastMaxPoolingForward(shape, channels, x, y);
  MaxOfPixels(shape, channels, range, x, y);
}

template <typename T>
void AveragePoolIntegers(const PoolingShape& shape, const ChannelsLast& channels,
                         int32_t zero_point, ByteRange range, const T* x, T* y) {
  channels.Check();
  AverageOfEights(shape, channels, zero_point, range, x, y);
}

template <typename T>
void AveragePoolIntegers(const PoolingShape& shape, int block, int32_t zero_point, ByteRange range,
                         const T* x, T* y) {
  const ChannelsLast pixels = InBlocksOf(block);
  if (block == 8 || block == 16) {
    return AverageOfEights(shape, pixels, zero_point, range, x, y);
  }
  ForEachWindow(shape, pixels,
                [&](size_t from, int rows, int columns, int size, size_t to, size_t) {
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

#define CAFFE_POOL_INTEGERS(T)                                                                    \
  template void MaxPoolIntegers(const PoolingShape&, int, ByteRange, const T*, T*);               \
  template void MaxPoolIntegers(const PoolingShape&, const ChannelsLast&, ByteRange, const T*,    \
                                T*);                                                              \
  template void AveragePoolIntegers(const PoolingShape&, int, int32_t, ByteRange, const T*, T*);  \
  template void AveragePoolIntegers(const PoolingShape&, const ChannelsLast&, int32_t, ByteRange, \
                                    const T*, T*)
CAFFE_POOL_INTEGERS(int8_t);
CAFFE_POOL_INTEGERS(uint8_t);
#undef CAFFE_POOL_INTEGERS

}  // namespace caffe::kernels
