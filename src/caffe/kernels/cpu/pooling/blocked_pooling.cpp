// Pooling with channels in blocks or channels last: each loop over a window works on all channels
// that lie side by side.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/int8/int8_tiles.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/pooling.hpp"

namespace caffe::kernels {
namespace {

/// A window: its positions within the image, where it begins in the padding, and its size for
/// averages by Caffe's rule.
struct BlockedWindow {
  int top, bottom, left, right;  // [top, bottom) x [left, right)
  int first_row, first_column;
  int64_t size;
};

BlockedWindow BlockedWindowAt(const PoolingShape& s, int row, int column) {
  BlockedWindow w;
  w.first_row = row * s.stride_h - s.pad_h;
  w.first_column = column * s.stride_w - s.pad_w;
  const int padded_bottom = std::min(w.first_row + s.kernel_h, s.height + s.pad_h);
  const int padded_right = std::min(w.first_column + s.kernel_w, s.width + s.pad_w);
  w.size = int64_t(padded_bottom - w.first_row) * (padded_right - w.first_column);
  w.top = std::max(w.first_row, 0);
  w.left = std::max(w.first_column, 0);
  w.bottom = std::min(padded_bottom, s.height);
  w.right = std::min(padded_right, s.width);
  return w;
}

/// Where the numbers of a plane lie: `lanes` of a pixel, and elements from one pixel to the next.
struct PlanePixels {
  size_t lanes, x_pixel, y_pixel;
};

/// Calls f(row, lanes, input offset of its plane, offset of its first output) for every row of
/// outputs, spread over threads: if there are few, each for some of the lanes.
template <typename Function>
void ForEachRow(const PoolingShape& s, const PlanePixels& pixels, Function&& f) {
  constexpr size_t kLeastLanes = 64;
  const size_t rows = s.planes * s.pooled_height;
  if (rows == 0 || pixels.lanes == 0) return;
  const size_t groups = std::min(CeilDiv(pixels.lanes, kLeastLanes), CeilDiv(4 * Threads(), rows));
  const size_t together =
      groups == 1 ? pixels.lanes : RoundUp(CeilDiv(pixels.lanes, groups), kLeastLanes);
  const size_t work = size_t(s.pooled_width) * s.kernel_h * s.kernel_w * together;
  ParallelFor(rows * groups, std::max<size_t>(1, (1 << 14) / std::max<size_t>(1, work)),
              [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                  const size_t row = groups == 1 ? i : i / groups;
                  const size_t lane = groups == 1 ? 0 : i % groups * together;
                  if (lane >= pixels.lanes) continue;
                  f(static_cast<int>(row % s.pooled_height),
                    std::min(together, pixels.lanes - lane),
                    row / s.pooled_height * s.input_plane() * pixels.x_pixel + lane,
                    row * s.pooled_width * pixels.y_pixel + lane);
                }
              });
}

/// The part of a window that lies in the image, for `lanes` numbers of each pixel, and where it
/// begins in a plane.
PoolingWindow PartOf(const PoolingShape& s, const BlockedWindow& w, size_t pixel, size_t lanes,
                     size_t* first) {
  *first = (size_t(w.top) * s.width + w.left) * pixel;
  return {std::max(0, w.bottom - w.top), std::max(0, w.right - w.left), s.width * pixel, pixel,
          static_cast<int>(lanes)};
}

/// Calls pool(window, its size, x, y) for each window.
template <typename T, typename Function>
void PoolWindows(const PoolingShape& s, const PlanePixels& pixels, const T* x, T* y,
                 Function&& pool) {
  ForEachRow(s, pixels, [&](int row, size_t lanes, size_t input, size_t output) {
    for (int column = 0; column < s.pooled_width; ++column, output += pixels.y_pixel) {
      const BlockedWindow w = BlockedWindowAt(s, row, column);
      size_t first;
      const PoolingWindow window = PartOf(s, w, pixels.x_pixel, lanes, &first);
      pool(window, static_cast<float>(w.size), x + input + first, y + output);
    }
  });
}

/// Calls f(first column, outputs) for the windows of a row, those within the image's width
/// together.
template <typename Function>
void ForEachRun(const PoolingShape& s, Function&& f) {
  const int width = s.width - s.kernel_w + s.pad_w;  // of the begins of windows without padding
  const int begin = std::min(s.pooled_width, static_cast<int>(CeilDiv(s.pad_w, s.stride_w)));
  const int end = width < 0 ? begin : std::clamp(width / s.stride_w + 1, begin, s.pooled_width);
  for (int column = 0; column < begin; ++column) f(column, 1);
  if (begin < end) f(begin, end - begin);
  for (int column = end; column < s.pooled_width; ++column) f(column, 1);
}

/// With a function of PackedTiles or Int8Tiles.
template <typename T, typename Function>
void MaxByRows(const PoolingShape& s, const PlanePixels& pixels, Function* pool, const T* x, T* y) {
  ForEachRow(s, pixels, [&](int row, size_t lanes, size_t input, size_t output) {
    ForEachRun(s, [&](int column, int outputs) {
      size_t first;
      WindowRow windows;
      static_cast<PoolingWindow&>(windows) =
          PartOf(s, BlockedWindowAt(s, row, column), pixels.x_pixel, lanes, &first);
      windows.outputs = outputs;
      windows.step = s.stride_w * pixels.x_pixel;
      windows.y_pixel = pixels.y_pixel;
      pool(windows, x + input + first, y + output + column * pixels.y_pixel);
    });
  });
}

PlanePixels Together(size_t channels) { return {channels, channels, channels}; }
PlanePixels PixelsOf(const ChannelsLast& channels) {
  channels.Check();
  return {channels.channels, channels.x_pixel, channels.y_pixel};
}

template <typename T>
void MaxOf(const PoolingShape& shape, const PlanePixels& pixels, const T* x, T* y) {
  if constexpr (sizeof(T) == 1) {
    const auto pool = ChosenInt8Tiles().max_windows[std::is_unsigned<T>::value];
    MaxByRows(shape, pixels, pool, x, y);
  } else {
    MaxByRows(shape, pixels, ChosenPackedTiles().max_windows[StorageOf<T>()], x, y);
  }
}
template <typename T>
void AverageOfStored(const PoolingShape& shape, const PlanePixels& pixels, const T* x, T* y) {
  const auto pool = ChosenPackedTiles().average_window[StorageOf<T>()];
  PoolWindows(shape, pixels, x, y, pool);
}
template <typename T>
void AverageOfBytes(const PoolingShape& shape, const PlanePixels& pixels, float factor, const T* x,
                    T* y) {
  const auto pool = ChosenInt8Tiles().average_window[std::is_unsigned<T>::value];
  PoolWindows(shape, pixels, x, y,
              [=](const PoolingWindow& window, float size, const T* from, T* to) {
                pool(window, size, factor, from, to);
              });
}

}  // namespace

template <typename T>
void BlockedMaxPoolingForward(const PoolingShape& shape, int block, const T* x, T* y) {
  MaxOf(shape, Together(block), x, y);
}
template <typename T>
void BlockedAveragePoolingForward(const PoolingShape& shape, int block, const T* x, T* y) {
  AverageOfStored(shape, Together(block), x, y);
}
template <typename T>
void BlockedAveragePoolingForward(const PoolingShape& shape, int block, float factor, const T* x,
                                  T* y) {
  AverageOfBytes(shape, Together(block), factor, x, y);
}

template <typename T>
void ChannelsLastMaxPoolingForward(const PoolingShape& shape, const ChannelsLast& channels,
                                   const T* x, T* y) {
  MaxOf(shape, PixelsOf(channels), x, y);
}
template <typename T>
void ChannelsLastAveragePoolingForward(const PoolingShape& shape, const ChannelsLast& channels,
                                       const T* x, T* y) {
  AverageOfStored(shape, PixelsOf(channels), x, y);
}
template <typename T>
void ChannelsLastAveragePoolingForward(const PoolingShape& shape, const ChannelsLast& channels,
                                       float factor, const T* x, T* y) {
  AverageOfBytes(shape, PixelsOf(channels), factor, x, y);
}

namespace {

/// A window as ChannelLoops takes it, and where it begins in its image.
ChannelLoops::Window LoopWindow(const PoolingShape& s, const BlockedWindow& w, size_t pixel,
                                size_t lanes, size_t* first) {
  *first = (size_t(w.top) * s.width + w.left) * pixel;
  return {std::max(0, w.bottom - w.top),
          std::max(0, w.right - w.left),
          s.width * pixel,
          pixel,
          lanes,
          (w.top - w.first_row) * s.kernel_w + w.left - w.first_column,
          s.kernel_w};
}

/// The outputs [begin, end) along an axis whose windows cover a position.
struct CoveringOutputs {
  CoveringOutputs(int position, int kernel, int stride, int pad, int outputs)
      : begin(position + pad < kernel ? 0 : (position + pad - kernel) / stride + 1),
        end(std::min(outputs, (position + pad) / stride + 1)) {}
  int begin, end;
};

/// Calls f(row, offset of its first pixel) for each row of the input.
template <typename Function>
void ForEachInputRow(const PoolingShape& s, size_t channels, Function&& f) {
  std::vector<int> begin, end;
  for (int column = 0; column < s.width; ++column) {
    const CoveringOutputs across(column, s.kernel_w, s.stride_w, s.pad_w, s.pooled_width);
    begin.push_back(across.begin);
    end.push_back(across.end);
  }
  std::vector<float> widths;
  for (int w = 0; w < s.pooled_width; ++w) {
    const int first = w * s.stride_w - s.pad_w;
    widths.push_back(std::min(first + s.kernel_w, s.width + s.pad_w) - first);
  }
  const size_t work = std::max<size_t>(1, s.width * channels);
  const size_t grain = std::max<size_t>(1, (1 << 13) / work);
  ParallelFor(s.planes * s.height, grain, [&](size_t first_row, size_t last_row) {
    std::vector<size_t> at;
    std::vector<int> first;
    std::vector<float> heights;
    for (size_t i = first_row; i < last_row; ++i) {
      const int row = static_cast<int>(i % s.height);
      const size_t image = i / s.height * s.output_plane();
      const CoveringOutputs down(row, s.kernel_h, s.stride_h, s.pad_h, s.pooled_height);
      at.clear(), first.clear(), heights.clear();
      for (int h = down.begin; h < down.end; ++h) {
        const int top = h * s.stride_h - s.pad_h;
        at.push_back((image + size_t(h) * s.pooled_width) * channels);
        first.push_back((row - top) * s.kernel_w);
        heights.push_back(std::min(top + s.kernel_h, s.height + s.pad_h) - top);
      }
      f(ChannelLoops::CoveredRow{channels, s.width, begin.data(), end.data(), s.stride_w, s.pad_w,
                                 static_cast<int>(at.size()), at.data(), first.data(),
                                 heights.data(), widths.data()},
        i * s.width * channels);
    }
  });
}

}  // namespace

template <typename T, typename I>
void PixelMaxPoolingForward(const PoolingShape& s, size_t channels, const T* x, T* y, I* mask) {
  if (!mask && channels % 8 == 0) return MaxOf(s, Together(channels), x, y);
  const auto pool = ChosenKernels().channels.max_windows[StorageOf<T>()][sizeof(I) > 1];
  ForEachRow(s, Together(channels), [&](int row, size_t lanes, size_t input, size_t output) {
    std::vector<I> unwanted(mask ? 0 : lanes);
    ForEachRun(s, [&](int column, int outputs) {
      size_t first;
      const ChannelLoops::Windows windows{
          LoopWindow(s, BlockedWindowAt(s, row, column), channels, lanes, &first), outputs,
          s.stride_w * channels, channels, mask ? channels : 0};
      const size_t to = output + column * channels;
      pool(windows, x + input + first, y + to, mask ? mask + to : unwanted.data());
    });
  });
}

template <typename D, typename I>
void PixelMaskPoolingBackward(const PoolingShape& s, size_t channels, const D* dy, const I* mask,
                              D* dx) {
  const auto gather = ChosenKernels().channels.mask_gradient[StorageOf<D>()][sizeof(I) > 1];
  ForEachInputRow(s, channels, [&](const ChannelLoops::CoveredRow& row, size_t at) {
    gather(row, dy, mask, dx + at);
  });
}

template <typename T>
void PixelAveragePoolingForward(const PoolingShape& s, size_t channels, const T* x, T* y) {
  if (channels % 8 == 0) return AverageOfStored(s, Together(channels), x, y);
  const auto pool = ChosenKernels().channels.average_window[StorageOf<T>()];
  ForEachRow(s, Together(channels), [&](int row, size_t lanes, size_t input, size_t output) {
    for (int column = 0; column < s.pooled_width; ++column, output += channels) {
      const BlockedWindow w = BlockedWindowAt(s, row, column);
      size_t first;
      const ChannelLoops::Window window = LoopWindow(s, w, channels, lanes, &first);
      pool(window, static_cast<float>(w.size), x + input + first, y + output);
    }
  });
}

template <typename D>
void PixelAveragePoolingBackward(const PoolingShape& s, size_t channels, const D* dy, D* dx) {
  const auto gather = ChosenKernels().channels.average_gradient[StorageOf<D>()];
  ForEachInputRow(s, channels, [&](const ChannelLoops::CoveredRow& row, size_t at) {
    gather(row, dy, dx + at);
  });
}

#define CAFFE_PIXEL_MASKS(T, I)                                                        \
  template void PixelMaxPoolingForward(const PoolingShape&, size_t, const T*, T*, I*); \
  template void PixelMaskPoolingBackward(const PoolingShape&, size_t, const T*, const I*, T*)
#define CAFFE_PIXELS(T)                                                                \
  CAFFE_PIXEL_MASKS(T, uint8_t);                                                       \
  CAFFE_PIXEL_MASKS(T, int);                                                           \
  template void PixelAveragePoolingForward(const PoolingShape&, size_t, const T*, T*); \
  template void PixelAveragePoolingBackward(const PoolingShape&, size_t, const T*, T*)
CAFFE_PIXELS(float);
CAFFE_PIXELS(float16);
#undef CAFFE_PIXELS
#undef CAFFE_PIXEL_MASKS

#define CAFFE_POOLING(T)                                                                          \
  template void BlockedMaxPoolingForward(const PoolingShape&, int, const T*, T*);                 \
  template void ChannelsLastMaxPoolingForward(const PoolingShape&, const ChannelsLast&, const T*, \
                                              T*)
#define CAFFE_MEANS(T)                                                                      \
  CAFFE_POOLING(T);                                                                         \
  template void BlockedAveragePoolingForward(const PoolingShape&, int, const T*, T*);       \
  template void ChannelsLastAveragePoolingForward(const PoolingShape&, const ChannelsLast&, \
                                                  const T*, T*)
CAFFE_MEANS(float);
CAFFE_MEANS(float16);
CAFFE_MEANS(bfloat16);
#undef CAFFE_MEANS
#define CAFFE_MEANS(T)                                                                             \
  CAFFE_POOLING(T);                                                                                \
  template void BlockedAveragePoolingForward(const PoolingShape&, int, float, const T*, T*);       \
  template void ChannelsLastAveragePoolingForward(const PoolingShape&, const ChannelsLast&, float, \
                                                  const T*, T*)
CAFFE_MEANS(int8_t);
CAFFE_MEANS(uint8_t);
#undef CAFFE_MEANS
#undef CAFFE_POOLING

}  // namespace caffe::kernels
