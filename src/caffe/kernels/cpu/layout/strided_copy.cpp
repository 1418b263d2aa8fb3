#include "caffe/kernels/strided_copy.hpp"

#include <cstring>

#include "caffe/element_type.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"

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

/// The axes with extents above 1; those that can be walked as one are joined. At least one.
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

constexpr std::ptrdiff_t kBlock = 16;  // rows of a transposition that are walked together

}  // namespace

// The last axis is the inner loop. If it is far apart in x and another axis is not, blocks of rows
// along that axis are copied together, so that what a cache line brings is used.
template <typename T>
void CopyStrided(const std::vector<int>& shape, const T* x, const Strides& x_strides, T* y,
                 const Strides& y_strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  std::vector<Axis> axes = Joined(shape, x_strides, y_strides);
  const Axis inner = axes.back();
  axes.pop_back();
  Axis rows = {1, 0, 0};
  if (inner.x != 1) {
    const auto near = std::find_if(axes.begin(), axes.end(), [](Axis axis) { return axis.x == 1; });
    if (near != axes.end()) {
      rows = *near;
      axes.erase(near);
    }
  }
  const size_t blocks = CeilDiv(rows.extent, kBlock);
  size_t items = blocks;
  for (const Axis& axis : axes) items *= axis.extent;
  const size_t item_size = inner.extent * std::min(kBlock, rows.extent);
  ParallelFor(items, std::max<size_t>(1, kLoopGrain / item_size), [&](size_t begin, size_t end) {
    for (size_t item = begin; item < end; ++item) {
      const std::ptrdiff_t first = (item % blocks) * kBlock;
      const std::ptrdiff_t height = std::min(kBlock, rows.extent - first);
      const T* from = x + first * rows.x;
      T* to = y + first * rows.y;
      size_t rest = item / blocks;
      for (size_t i = axes.size(); i-- > 0;) {
        const std::ptrdiff_t index = rest % axes[i].extent;
        from += index * axes[i].x;
        to += index * axes[i].y;
        rest /= axes[i].extent;
      }
      if (inner.x == 1 && inner.y == 1) {
        std::memcpy(to, from, inner.extent * sizeof(T));
        continue;
      }
      for (std::ptrdiff_t i = 0; i < inner.extent; ++i) {
        for (std::ptrdiff_t row = 0; row < height; ++row) {
          to[row * rows.y + i * inner.y] = from[row * rows.x + i * inner.x];
        }
      }
    }
  });
}

#define CAFFE_COPY(T) \
  template void CopyStrided(const std::vector<int>&, const T*, const Strides&, T*, const Strides&)
CAFFE_COPY(float);
CAFFE_COPY(double);
CAFFE_COPY(float16);
#undef CAFFE_COPY

}  // namespace caffe::kernels
