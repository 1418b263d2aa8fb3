#ifndef CAFFE_AS_STORED_HPP_
#define CAFFE_AS_STORED_HPP_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "caffe/blob.hpp"

namespace caffe {

// For layers that can compute in whatever layout their bottom lies: no reordering inside a chain
// of them.

/// How many times any tensor of this process was brought from one layout to another.
uint64_t LayoutChanges();

/// The elements of `tensor` in `layout`, up to date.
template <typename T>
const T* ReadAs(Tensor& tensor, const Layout& layout) {
  return static_cast<const T*>(tensor.Read(kElementType<T>, layout).cpu_data());
}
/// The same for writing all of them.
template <typename T>
T* OverwriteAs(Tensor& tensor, const Layout& layout) {
  return static_cast<T*>(tensor.Overwrite(kElementType<T>, layout).overwrite_cpu_data());
}

/// The layout that `tensor` was written in last, as T; PLAIN if a layout would not fit a shape
/// whose axes 0 and 1 have these extents.
template <typename T>
Layout LayoutFor(const Tensor& tensor, const std::vector<int>& shape) {
  const Layout layout = tensor.newest_layout(kElementType<T>);
  const bool fits = layout.kind == Layout::PLAIN ||
                    (shape.size() >= 3 && layout.num == static_cast<size_t>(shape[0]) &&
                     layout.channels == static_cast<size_t>(shape[1]));
  return fits ? layout : Layout();
}

/// The same, but PLAIN for a layout with padding: for functions that do not map 0 to 0.
template <typename T>
Layout UnpaddedLayoutFor(const Tensor& tensor, const std::vector<int>& shape) {
  const Layout layout = LayoutFor<T>(tensor, shape);
  const bool padded =
      layout.kind == Layout::CHANNELS_BLOCKED && layout.channels % layout.block != 0;
  return padded ? Layout() : layout;
}

/// The same, but PLAIN for a layout other than channels in blocks of 8 or 16, and for types other
/// than float, which have no kernels for blocks.
template <typename T>
Layout BlockedLayoutFor(const Tensor& tensor, const std::vector<int>& shape) {
  if (!std::is_same<T, float>::value) return Layout();
  const Layout layout = LayoutFor<T>(tensor, shape);
  const bool blocked =
      layout.kind == Layout::CHANNELS_BLOCKED && (layout.block == 8 || layout.block == 16);
  return blocked ? layout : Layout();
}

/// Calls f(count, x, y) on the bottom's and the top's data (of the same shape, perhaps in place) as
/// they lie, padding included: f works element by element and has f(0) = 0.
template <typename T, typename Dtype, typename Function>
void MapAsStored(const Blob<Dtype>& bottom, Blob<Dtype>* top, Function&& f) {
  const Layout layout = LayoutFor<T>(bottom.data_tensor(), bottom.shape());
  const T* x = ReadAs<T>(bottom.data_tensor(), layout);
  f(layout.extent(bottom.count()), x, OverwriteAs<T>(top->data_tensor(), layout));
}

}  // namespace caffe

#endif  // CAFFE_AS_STORED_HPP_
