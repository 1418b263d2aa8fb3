#ifndef CAFFE_CUDA_AS_STORED_HPP_
#define CAFFE_CUDA_AS_STORED_HPP_

#include <vector>

#include "caffe/core/as_stored.hpp"

namespace caffe::cuda {

// For layers that compute on a GPU in their bottom's layout,
// Caffe's or channels last: no reordering inside a chain of them.
// Gradients take the order of the values that they belong to.

using caffe::AnyChannelsLast;
using caffe::ChannelLayout;
using caffe::ChannelsLast;
using caffe::StoredLayout;

/// StoredLayout for several of equal shape that are read together.
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

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_AS_STORED_HPP_
