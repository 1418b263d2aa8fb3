#include "caffe/kernels/permute_channels.hpp"

#include "caffe/kernels/cpu/elementwise/chunks.hpp"

namespace caffe::kernels {

template <typename T>
void TransposePieces(size_t num, size_t rows, size_t columns, size_t inner, const T* x, T* y) {
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, inner));
  ParallelFor(num * rows * columns, grain, [&](size_t begin, size_t end) {
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t n = piece / (rows * columns);
      const size_t row = piece % rows, column = piece / rows % columns;
      std::copy_n(x + ((n * rows + row) * columns + column) * inner, inner, y + piece * inner);
    }
  });
}

namespace {

/// Calls f(first element of a row of a phase, of the same row in the larger plane) for all rows.
template <typename Function>
void ForEachPhaseRow(size_t num, int channels, int height, int width, int stride, Function&& f) {
  const size_t planes = num * stride * stride * channels;
  const size_t plane = size_t(height) * width;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, plane));
  ParallelFor(planes, grain, [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      const size_t c = p % channels, phase = p / channels % (size_t(stride) * stride);
      const size_t n = p / (size_t(stride) * stride * channels);
      const size_t i = phase / stride, j = phase % stride;
      for (int h = 0; h < height; ++h) {
        const size_t row = ((n * channels + c) * height + h) * stride + i;
        f(p * plane + size_t(h) * width, row * width * stride + j);
      }
    }
  });
}

}  // namespace

template <typename T>
void SpaceToDepth(size_t num, int channels, int height, int width, int stride, const T* x, T* y) {
  ForEachPhaseRow(num, channels, height, width, stride, [&](size_t phase, size_t plane) {
    for (int w = 0; w < width; ++w) y[phase + w] = x[plane + size_t(w) * stride];
  });
}

template <typename T>
void DepthToSpace(size_t num, int channels, int height, int width, int stride, const T* x, T* y) {
  ForEachPhaseRow(num, channels, height, width, stride, [&](size_t phase, size_t plane) {
    for (int w = 0; w < width; ++w) y[plane + size_t(w) * stride] = x[phase + w];
  });
}

#define CAFFE_PERMUTE(T)                                                       \
  template void TransposePieces(size_t, size_t, size_t, size_t, const T*, T*); \
  template void SpaceToDepth(size_t, int, int, int, int, const T*, T*);        \
  template void DepthToSpace(size_t, int, int, int, int, const T*, T*)
CAFFE_PERMUTE(float);
CAFFE_PERMUTE(double);
CAFFE_PERMUTE(float16);
#undef CAFFE_PERMUTE

}  // namespace caffe::kernels
