#ifndef CAFFE_LAYERS_CHANNEL_ORDER_HPP_
#define CAFFE_LAYERS_CHANNEL_ORDER_HPP_

#include "caffe/kernels/pixel_channels.hpp"
#include "caffe/tensor.hpp"

namespace caffe {

/// (outer, channels, inner) as kernels take it in a layout of ChannelLayout: Caffe's order or
/// channels last.
inline kernels::ChannelOrder OrderIn(const Layout& layout, size_t outer, size_t channels,
                                     size_t inner) {
  return {outer, channels, inner, layout.kind == Layout::CHANNELS_LAST};
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_CHANNEL_ORDER_HPP_
