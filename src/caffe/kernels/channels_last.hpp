#ifndef CAFFE_KERNELS_CHANNELS_LAST_HPP_
#define CAFFE_KERNELS_CHANNELS_LAST_HPP_

#include <cstddef>

#include "caffe/error.hpp"

namespace caffe::kernels {

/// Images whose channels are last: (images, height, width, channels), where x and y may be parts
/// of larger pixels.
struct ChannelsLast {
  size_t channels;          ///< of a pixel, including zeros that fill up the last block
  size_t x_pixel, y_pixel;  ///< elements from one pixel to the next

  /// Throws Error unless channels come in eights, and pixels do not overlap.
  void Check() const {
    Require(channels % 8 == 0, "pixels of ", channels, " channels; a multiple of 8");
    Require(x_pixel >= channels && y_pixel >= channels, "pixels of ", channels, " channels begin ",
            x_pixel, " and ", y_pixel, " elements apart");
  }
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CHANNELS_LAST_HPP_
