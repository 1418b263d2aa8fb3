#ifndef CAFFE_LAYERS_CHANNEL_ORDER_HPP_
#define CAFFE_LAYERS_CHANNEL_ORDER_HPP_

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/channels.hpp"

namespace caffe {

/// The layout in which kernels::ChannelOrder takes a blob whose values were written last as T and
/// that stands for (outer, channels, ...): in blocks of 8 or 16 or channels last, if its channels
/// are those; else PLAIN.
template <typename T, typename Dtype>
Layout OrderedLayout(const Blob<Dtype>& blob, size_t outer, size_t channels) {
  if constexpr (!std::is_same<T, double>::value) {
    const Layout layout = BlockedLayoutFor<T>(blob.data_tensor(), blob.shape());
    if (layout.kind != Layout::PLAIN) {
      return layout.num == outer && layout.channels == channels ? layout : Layout();
    }
  }
  return ChannelLayout<T>(blob, outer, channels);
}

/// True where Caffe's order has the channels side by side: with one position. Sums over them take
/// some hundred bytes a channel, so channels have to be few.
inline bool HasChannelsLast(size_t channels, size_t inner) {
  constexpr size_t kMostChannels = 1 << 14;
  return inner == 1 && channels <= kMostChannels;
}

/// (outer, channels, inner) as kernels take it in a layout of OrderedLayout.
inline kernels::ChannelOrder OrderIn(const Layout& layout, size_t outer, size_t channels,
                                     size_t inner) {
  if (layout.kind == Layout::CHANNELS_BLOCKED) {
    return {outer, channels, inner, size_t(layout.block)};
  }
  return {outer, channels, inner,
          layout.kind == Layout::CHANNELS_LAST || HasChannelsLast(channels, inner) ? channels : 1};
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_CHANNEL_ORDER_HPP_
