#include "caffe/kernels/strided_copy.hpp"

#include <cstring>

#include "caffe/element_type.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {

Strides ContiguousStrides(const std::vector<int>& shape) {
  Strides strides(shape.size());
  std::ptrdiff_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

namespace {

struct Axis {
  std::ptrdiff_t extent, x, y;
};

/// The axes with extents above 1, merged where they can be traversed as one. At least one.
std::vector<Axis> Joined(const std::vector<int>& shape, const Strides& x, const Strides& y) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const Axis axis = {shape[i], x[i], y[i]};
    if (!axes.empty() && axes.back().x == axis.x * axis.extent &&
        axes.back().y == axis.y * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.x, axis.y};
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
  return axes;
}

constexpr std::ptrdiff_t kBlock = 16;     // rows that are copied together
constexpr std::ptrdiff_t kShortRow = 64;  // elements; in shorter ones finding rows counts

template <typename T>
void CopyRow(const Axis& inner, const T* x, T* y) {
  if (inner.x == 1 && inner.y == 1) {
    std::memcpy(y, x, inner.extent * sizeof(T));
  } else if (inner.y == 1) {
    for (std::ptrdiff_t i = 0; i < inner.extent; ++i) y[i] = x[i * inner.x];
  } else {
    for (std::ptrdiff_t i = 0; i < inner.extent; ++i) y[i * inner.y] = x[i * inner.x];
  }
}

/// Copies `height` rows of the inner axis.
template <typename T>
void CopyBlock(const Axis& inner, const Axis& rows, std::ptrdiff_t height, const T* x, T* y) {
  if (rows.x != 1 || inner.x == 1 || height < 4) {
    for (std::ptrdiff_t row = 0; row < height; ++row) {
      CopyRow(inner, x + row * rows.x, y + row * rows.y);
    }
    return;
  }
  for (std::ptrdiff_t i = 0; i < inner.extent; ++i) {
    for (std::ptrdiff_t row = 0; row < height; ++row) {
      y[row * rows.y + i * inner.y] = x[row + i * inner.x];
    }
  }
}

/// An index into axes, the last of which runs fastest, and where its element lies.
struct Odometer {
  const std::vector<Axis>& axes;
  std::vector<std::ptrdiff_t> index;
  std::ptrdiff_t x = 0, y = 0;

  Odometer(const std::vector<Axis>& axes, size_t number) : axes(axes), index(axes.size()) {
    for (size_t i = axes.size(); i-- > 0; number /= axes[i].extent) {
      index[i] = number % axes[i].extent;
      x += index[i] * axes[i].x;
      y += index[i] * axes[i].y;
    }
  }
  void Advance() {
    for (size_t i = axes.size(); i-- > 0;) {
      x += axes[i].x;
      y += axes[i].y;
      if (++index[i] < axes[i].extent) return;
      x -= axes[i].extent * axes[i].x;
      y -= axes[i].extent * axes[i].y;
      index[i] = 0;
    }
  }
};

}  // namespace

// The last axis is the inner loop. If its elements are far apart in x and those of another axis are
// not, blocks of rows along that axis are copied together, so that whole cache lines are used.
template <typename T>
void CopyStrided(const std::vector<int>& shape, const T* x, const Strides& x_strides, T* y,
                 const Strides& y_strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  std::vector<Axis> axes = Joined(shape, x_strides, y_strides);
  const Axis inner = axes.back();
  axes.pop_back();
  auto near = std::find_if(axes.begin(), axes.end(),
                           [&](Axis axis) { return inner.x != 1 && axis.x == 1; });
  if (near == axes.end() && !axes.empty() && inner.extent < kShortRow) near = axes.end() - 1;
  Axis rows = {1, 0, 0};
  if (near != axes.end()) {
    rows = *near;
    axes.erase(near);
  }
  const size_t blocks = CeilDiv(rows.extent, kBlock);
  size_t items = blocks;
  for (const Axis& axis : axes) items *= axis.extent;
  const size_t item_size = inner.extent * std::min(kBlock, rows.extent);
  ParallelFor(items, std::max<size_t>(1, kLoopGrain / item_size), [&](size_t begin, size_t end) {
    Odometer place(axes, begin / blocks);
    size_t block = begin % blocks;
    for (size_t item = begin; item < end; ++item) {
      const std::ptrdiff_t first = block * kBlock;
      CopyBlock(inner, rows, std::min(kBlock, rows.extent - first), x + place.x + first * rows.x,
                y + place.y + first * rows.y);
      if (++block < blocks) continue;
      block = 0;
      place.Advance();
    }
  });
}

#define CAFFE_COPY(T) \
  template void CopyStrided(const std::vector<int>&, const T*, const Strides&, T*, const Strides&);
CAFFE_FOR_EACH_FLOAT(CAFFE_COPY)
#undef CAFFE_COPY

}  // namespace caffe::kernels
