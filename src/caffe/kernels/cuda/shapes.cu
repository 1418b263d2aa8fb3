#include "caffe/kernels/cuda/shapes.hpp"

#include "caffe/kernels/instances.hpp"
#include "launch.hpp"
#include "numbers.hpp"

namespace caffe::cuda {

template <typename T>
void CopyRows(Stream& stream, int rows, int length, const T* x, int x_stride, T* y, int y_stride) {
  ForEach(stream, rows * length, [=] __host__ __device__(int i) {
    const int row = i / length, column = i % length;
    y[row * y_stride + column] = x[row * x_stride + column];
  });
}

namespace {

constexpr int kMaxAxes = 32;

/// The axes of a copy, the last one fastest.
struct Axes {
  int count = 0;
  int extent[kMaxAxes], from[kMaxAxes], to[kMaxAxes];
};

/// Drops axes of extent 1 and merges neighbours that are contiguous on both sides.
Axes AxesOf(const std::vector<int>& shape, const kernels::Strides& x, const kernels::Strides& y) {
  Axes axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const int from = static_cast<int>(x[i]), to = static_cast<int>(y[i]);
    const int last = axes.count - 1;
    if (last >= 0 && axes.from[last] == from * shape[i] && axes.to[last] == to * shape[i]) {
      axes.extent[last] *= shape[i];
    } else {
      axes.extent[++axes.count - 1] = shape[i];
    }
    axes.from[axes.count - 1] = from;
    axes.to[axes.count - 1] = to;
  }
  return axes;
}

}  // namespace

template <typename T>
void CopyStrided(Stream& stream, const std::vector<int>& shape, const T* x,
                 const kernels::Strides& x_strides, T* y, const kernels::Strides& y_strides) {
  int count = 1;
  for (const int extent : shape) count *= extent;
  const Axes axes = AxesOf(shape, x_strides, y_strides);
  ForEach(stream, count, [=] __host__ __device__(int i) {
    int from = 0, to = 0;
    for (int axis = axes.count - 1; axis >= 0; --axis) {
      const int k = i % axes.extent[axis];
      i /= axes.extent[axis];
      from += k * axes.from[axis];
      to += k * axes.to[axis];
    }
    y[to] = x[from];
  });
}

template <typename T>
void Tile(Stream& stream, int outer, int tiles, int inner, const T* x, T* y) {
  ForEach(stream, outer * tiles * inner,
          [=] __host__ __device__(int i) { y[i] = x[i / inner / tiles * inner + i % inner]; });
}

template <typename D>
void TileGradient(Stream& stream, int outer, int tiles, int inner, const D* dy, D* dx) {
  ForEach(stream, outer * inner, [=] __host__ __device__(int i) {
    const D* first = dy + i / inner * tiles * inner + i % inner;
    Math<D> sum = 0;
    for (int tile = 0; tile < tiles; ++tile) sum += Load(first + tile * inner);
    Store(dx + i, sum);
  });
}

template <typename T, typename Index>
void GatherRows(Stream& stream, int rows, int length, int items, const Index* indices, const T* x,
                T* y) {
  const Math<T> nan = std::numeric_limits<Math<T>>::quiet_NaN();
  ForEach(stream, rows * length, [=] __host__ __device__(int i) {
    const int item = WholeNumber(indices[i / length], items);
    if (item < 0) {
      Store(y + i, nan);
    } else {
      y[i] = x[item * length + i % length];
    }
  });
}

template <typename Index>
void GroupRows(Stream& stream, int rows, int items, const Index* indices, int* order, int* begin) {
  // Item i begins after all rows of items below i.
  SumRows<int>(
      stream, items + 1, rows,
      [=] __host__ __device__(int item, int row) {
        const int owner = WholeNumber(indices[row], items);
        return int(owner >= 0 && owner < item);
      },
      [=] __host__ __device__(int item, int sum) { begin[item] = sum; });
  SumRows<int>(
      stream, rows, rows,
      [=] __host__ __device__(int row, int other) {
        const int own = WholeNumber(indices[row], items);
        const int owner = WholeNumber(indices[other], items);
        return int(owner >= 0 && (owner < own || (owner == own && other < row)));
      },
      [=] __host__ __device__(int row, int place) {
        if (WholeNumber(indices[row], items) >= 0) order[place] = row;
      });
}

template <typename D>
void SumGroups(Stream& stream, int items, int length, const int* order, const int* begin,
               const D* dy, D* dx) {
  ForEach(stream, items * length, [=] __host__ __device__(int i) {
    const int item = i / length;
    Math<D> sum = 0;
    for (int k = begin[item]; k < begin[item + 1]; ++k) {
      sum += Load(dy + order[k] * length + i % length);
    }
    Store(dx + i, sum);
  });
}

#define INSTANTIATE_INDEX(T, Index) \
  template void GatherRows(Stream&, int, int, int, const Index*, const T*, T*);
#define INSTANTIATE(T)                                                                           \
  template void CopyRows(Stream&, int, int, const T*, int, T*, int);                             \
  template void CopyStrided(Stream&, const std::vector<int>&, const T*, const kernels::Strides&, \
                            T*, const kernels::Strides&);                                        \
  template void Tile(Stream&, int, int, int, const T*, T*);                                      \
  template void TileGradient(Stream&, int, int, int, const T*, T*);                              \
  template void SumGroups(Stream&, int, int, const int*, const int*, const T*, T*);              \
  INSTANTIATE_INDEX(T, int)                                                                      \
  INSTANTIATE_INDEX(T, float)                                                                    \
  INSTANTIATE_INDEX(T, double)
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
template void GroupRows(Stream&, int, int, const int*, int*, int*);
template void GroupRows(Stream&, int, int, const float*, int*, int*);
template void GroupRows(Stream&, int, int, const double*, int*, int*);

}  // namespace caffe::cuda
