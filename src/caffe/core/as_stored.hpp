#ifndef CAFFE_AS_STORED_HPP_
#define CAFFE_AS_STORED_HPP_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/kernels/convert.hpp"

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

/// The same, but PLAIN for a layout other than channels in blocks of 8 or 16.
template <typename T>
Layout BlockedLayoutFor(const Tensor& tensor, const std::vector<int>& shape) {
  const Layout layout = LayoutFor<T>(tensor, shape);
  const bool blocked =
      layout.kind == Layout::CHANNELS_BLOCKED && (layout.block == 8 || layout.block == 16);
  return blocked ? layout : Layout();
}

/// (num, channels, spatial...) with channels last. PLAIN where that is the same order in memory,
/// and for shapes without spatial axes.
inline Layout ChannelsLast(const std::vector<int>& shape) {
  if (shape.size() < 3) return Layout();
  size_t spatial = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) spatial *= shape[axis];
  if (shape[1] == 1 || spatial == 1) return Layout();
  return Layout::ChannelsLast(shape[0], shape[1], spatial);
}

/// In what order a kernel takes a blob whose values were written last as T: channels last if they
/// are, else Caffe's.
template <typename T, typename Dtype>
Layout StoredLayout(const Blob<Dtype>& blob) {
  const Layout layout = blob.data_tensor().newest_layout(kElementType<T>);
  return layout.kind == Layout::CHANNELS_LAST && layout == ChannelsLast(blob.shape()) ? layout
                                                                                      : Layout();
}

/// The same for several of equal batch and spatial axes that are read together: channels last if
/// one of them is, because later layers prefer it.
template <typename T, typename Dtype>
bool AnyChannelsLast(const std::vector<Blob<Dtype>*>& blobs) {
  for (const Blob<Dtype>* blob : blobs) {
    if (StoredLayout<T>(*blob).kind == Layout::CHANNELS_LAST) return true;
  }
  return false;
}

/// StoredLayout, but PLAIN unless the layout's channels are those of (outer, channels, ...).
template <typename T, typename Dtype>
Layout ChannelLayout(const Blob<Dtype>& blob, size_t outer, size_t channels) {
  const Layout layout = StoredLayout<T>(blob);
  return layout.num == outer && layout.channels == channels ? layout : Layout();
}

/// The layout in which several blobs of one shape are read together: channels last if one of them
/// is, else the first one's.
template <typename T, typename Dtype>
Layout CommonLayoutFor(const std::vector<Blob<Dtype>*>& blobs) {
  return AnyChannelsLast<T>(blobs) ? ChannelsLast(blobs[0]->shape())
                                   : LayoutFor<T>(blobs[0]->data_tensor(), blobs[0]->shape());
}

/// Copies the values of `from` as they lie in `layout` into `to`, which gets its shape.
template <typename T, typename Dtype>
void KeepAs(const Blob<Dtype>& from, const Layout& layout, Blob<Dtype>* to) {
  to->ReshapeLike(from);
  const T* x = ReadAs<T>(from.data_tensor(), layout);
  kernels::Convert(layout.extent(from.count()), x, OverwriteAs<T>(to->data_tensor(), layout));
}

/// In what order the gradient of `values` is taken: channels last if the values are, which have
/// type T; else the order in which the gradient was written as D, but for channels last.
template <typename T, typename D, typename Dtype>
Layout GradientLayout(const Blob<Dtype>& values, const Tensor& gradient) {
  const Layout stored = StoredLayout<T>(values);
  if (stored.kind != Layout::PLAIN) return stored;
  const Layout layout = LayoutFor<D>(gradient, values.shape());
  return layout.kind == Layout::CHANNELS_LAST ? Layout() : layout;
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
