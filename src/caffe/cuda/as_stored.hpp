#ifndef CAFFE_CUDA_AS_STORED_HPP_
#define CAFFE_CUDA_AS_STORED_HPP_

#include <vector>

#include "caffe/core/as_stored.hpp"

namespace caffe::cuda {

// For layers that compute on a GPU in their bottom's layout,
// Caffe's or channels last: no reordering inside a chain of them.
// Gradients take the order of the values that they belong to.

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
template <typename T, typename Dtype>
Layout CommonLayout(const std::vector<Blob<Dtype>*>& blobs) {
  return AnyChannelsLast<T>(blobs) ? ChannelsLast(blobs[0]->shape()) : Layout();
}

// Device memory in a layout: up to date, or for writing all of it.
template <typename T, typename Dtype>
const T* ReadData(const Blob<Dtype>& blob, const Layout& layout) {
  return static_cast<const T*>(blob.data_tensor().Read(kElementType<T>, layout).gpu_data());
}
template <typename T, typename Dtype>
const T* ReadDiff(const Blob<Dtype>& blob, const Layout& layout) {
  return static_cast<const T*>(blob.diff_tensor().Read(kElementType<T>, layout).gpu_data());
}
template <typename T, typename Dtype>
T* OverwriteData(const Layout& layout, Blob<Dtype>* blob) {
  return static_cast<T*>(
      blob->data_tensor().Overwrite(kElementType<T>, layout).overwrite_gpu_data());
}
template <typename T, typename Dtype>
T* OverwriteDiff(const Layout& layout, Blob<Dtype>* blob) {
  return static_cast<T*>(
      blob->diff_tensor().Overwrite(kElementType<T>, layout).overwrite_gpu_data());
}

/// An array with a number for each channel, as the kernels of channels.hpp take it.
struct ChannelExtents {
  int outer, channels, inner;
};
/// Those of (outer, channels, inner) in a layout.
inline ChannelExtents ExtentsIn(const Layout& layout, int outer, int channels, int inner) {
  if (layout.kind == Layout::CHANNELS_LAST) return {outer * inner, channels, 1};
  return {outer, channels, inner};
}
/// StoredLayout, but PLAIN unless the layout's channels are those of (outer, channels, inner).
template <typename T, typename Dtype>
Layout ChannelLayout(const Blob<Dtype>& blob, int outer, int channels) {
  const Layout layout = StoredLayout<T>(blob);
  const bool same =
      layout.num == static_cast<size_t>(outer) && layout.channels == static_cast<size_t>(channels);
  return same ? layout : Layout();
}

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_AS_STORED_HPP_
