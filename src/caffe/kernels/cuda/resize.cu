#include "caffe/kernels/cuda/resize.hpp"

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/instances.hpp"
#include "launch.hpp"
#include "numbers.hpp"

namespace caffe::cuda {

template <typename T, typename Weight>
void Resize(Stream& stream, int planes, const ResizeAxis<Weight>& h, const ResizeAxis<Weight>& w,
            const T* x, T* y) {
  using F = Math<T>;
  ForEach(stream, planes * h.outputs * w.outputs, [=] __host__ __device__(int i) {
    const int column = i % w.outputs, row = i / w.outputs % h.outputs;
    const T* plane = x + i / w.outputs / h.outputs * h.inputs * w.inputs;
    F sum = 0;
    for (int a = h.start[row]; a < h.start[row + 1]; ++a) {
      F of_row = 0;
      for (int b = w.start[column]; b < w.start[column + 1]; ++b) {
        of_row += static_cast<F>(w.weight[b]) * Load(plane + h.index[a] * w.inputs + w.index[b]);
      }
      sum += static_cast<F>(h.weight[a]) * of_row;
    }
    Store(y + i, sum);
  });
}

namespace {

/// *y = max(*y, value), whatever other threads do.
__host__ __device__ inline void AtomicMax(int* y, int value) {
#ifdef __CUDA_ARCH__
  atomicMax(y, value);
#else
  *y = Max(*y, value);
#endif
}

/// Positions are truncated to integers, as on the CPU.
template <typename Position>
__host__ __device__ int PositionAt(const Position* positions, int i, int outputs) {
  const Position position = positions[i];
  return position >= 0 && position < Position(outputs) ? static_cast<int>(position) : -1;
}

}  // namespace

template <typename T, typename Position>
void Unpool(Stream& stream, int planes, int inputs, int outputs, const T* x,
            const Position* positions, T* y) {
  constexpr int kNone = -1, kOutside = std::numeric_limits<int>::max();
  const Math<T> nan = std::numeric_limits<Math<T>>::quiet_NaN();
  Buffer<int> memory(stream, size_t(planes) * outputs);
  int* source = memory.get();
  ForEach(stream, planes * outputs, [=] __host__ __device__(int i) { source[i] = kNone; });
  ForEach(stream, planes * inputs, [=] __host__ __device__(int i) {
    const int position = PositionAt(positions, i, outputs);
    int* plane = source + i / inputs * outputs;
    AtomicMax(position < 0 ? plane : plane + position, position < 0 ? kOutside : i);
  });
  ForEach(stream, planes * outputs, [=] __host__ __device__(int i) {
    const int from = source[i];
    Store(y + i, from == kNone ? Math<T>(0) : from == kOutside ? nan : Load(x + from));
  });
}

template <typename D, typename Position>
void UnpoolGradient(Stream& stream, int planes, int inputs, int outputs, const D* dy,
                    const Position* positions, D* dx) {
  const Math<D> nan = std::numeric_limits<Math<D>>::quiet_NaN();
  ForEach(stream, planes * inputs, [=] __host__ __device__(int i) {
    const int position = PositionAt(positions, i, outputs);
    Store(dx + i, position < 0 ? nan : Load(dy + i / inputs * outputs + position));
  });
}

namespace {

/// The window of one result of a pyramid.
struct PyramidWindow {
  int plane;  ///< of the bottom
  int top, bottom, left, right;
  int area;

  __host__ __device__ PyramidWindow(const Pyramid& p, int i) {
    const int item = i / p.outputs, at = i % p.outputs;
    int k = p.count - 1;
    while (p.level[k].offset > at) --k;
    const PyramidLevel& level = p.level[k];
    const int bin = at - level.offset, bins = level.bins;
    plane = item * p.channels + bin / (bins * bins);
    const int row = bin / bins % bins * level.kernel_h - level.pad_h;
    const int column = bin % bins * level.kernel_w - level.pad_w;
    top = Max(row, 0);
    left = Max(column, 0);
    bottom = Min(row + level.kernel_h, p.height);
    right = Min(column + level.kernel_w, p.width);
    area = level.kernel_h * level.kernel_w;
  }
};

/// The position of the first of the largest elements of a window in x.
template <typename T>
__host__ __device__ int LargestIn(const PyramidWindow& window, const Pyramid& p, const T* x) {
  const int plane = window.plane * p.height * p.width;
  int best = plane + window.top * p.width + window.left;
  for (int h = window.top; h < window.bottom; ++h) {
    for (int w = window.left; w < window.right; ++w) {
      const int at = plane + h * p.width + w;
      if (Load(x + at) > Load(x + best)) best = at;
    }
  }
  return best;
}

}  // namespace

template <typename T>
void PyramidPool(Stream& stream, const Pyramid& pyramid, const T* x, T* y) {
  ForEach(stream, pyramid.num * pyramid.outputs, [=] __host__ __device__(int i) {
    const PyramidWindow window(pyramid, i);
    if (pyramid.maximum) {
      Store(y + i, Load(x + LargestIn(window, pyramid, x)));
      return;
    }
    const T* plane = x + window.plane * pyramid.height * pyramid.width;
    Math<T> sum = 0;
    for (int h = window.top; h < window.bottom; ++h) {
      for (int w = window.left; w < window.right; ++w) sum += Load(plane + h * pyramid.width + w);
    }
    Store(y + i, sum / window.area);
  });
}

// Each element lies in one window of each level.
template <typename T, typename D>
void PyramidPoolGradient(Stream& stream, const Pyramid& pyramid, const T* x, const D* dy, D* dx) {
  Buffer<int> memory(stream, pyramid.maximum ? size_t(pyramid.num) * pyramid.outputs : 0);
  int* largest = memory.get();
  if (pyramid.maximum) {
    ForEach(stream, pyramid.num * pyramid.outputs, [=] __host__ __device__(int i) {
      largest[i] = LargestIn(PyramidWindow(pyramid, i), pyramid, x);
    });
  }
  const int count = pyramid.num * pyramid.channels * pyramid.height * pyramid.width;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int w = i % pyramid.width, h = i / pyramid.width % pyramid.height;
    const int plane = i / pyramid.width / pyramid.height;
    const int item = plane / pyramid.channels, channel = plane % pyramid.channels;
    Math<D> sum = 0;
    for (int k = 0; k < pyramid.count; ++k) {
      const PyramidLevel& level = pyramid.level[k];
      const int row = (h + level.pad_h) / level.kernel_h;
      const int column = (w + level.pad_w) / level.kernel_w;
      const int at = item * pyramid.outputs + level.offset +
                     (channel * level.bins + row) * level.bins + column;
      if (!pyramid.maximum) {
        sum += Load(dy + at) / (level.kernel_h * level.kernel_w);
      } else if (largest[at] == i) {
        sum += Load(dy + at);
      }
    }
    Store(dx + i, sum);
  });
}

#define INSTANTIATE_WEIGHT(T, W)                                                                \
  template void Resize(Stream&, int, const ResizeAxis<W>&, const ResizeAxis<W>&, const T*, T*); \
  template void Unpool(Stream&, int, int, int, const T*, const W*, T*);                         \
  template void UnpoolGradient(Stream&, int, int, int, const T*, const W*, T*);
#define INSTANTIATE_PAIR(T, D) \
  template void PyramidPoolGradient(Stream&, const Pyramid&, const T*, const D*, D*);
#define INSTANTIATE(T)                                              \
  template void PyramidPool(Stream&, const Pyramid&, const T*, T*); \
  INSTANTIATE_WEIGHT(T, float)                                      \
  INSTANTIATE_WEIGHT(T, double)
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
CAFFE_FOR_EACH_PAIR(INSTANTIATE_PAIR)

}  // namespace caffe::cuda
