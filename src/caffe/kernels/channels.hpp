#ifndef CAFFE_KERNELS_CHANNELS_HPP_
#define CAFFE_KERNELS_CHANNELS_HPP_

#include <cstddef>
#include <type_traits>

#include "caffe/element_type.hpp"
#include "caffe/kernels/batch_norm.hpp"
#include "caffe/kernels/blocked_channels.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/pixel_channels.hpp"

namespace caffe::kernels {

/// Where the channels of an array (outer, channels, inner) lie: how many side by side at each of
/// the inner positions. 1: Caffe's order; `channels`: channels last; else in blocks
/// (BlockedChannels).
struct ChannelOrder {
  size_t outer, channels, inner, lanes;
  bool last() const { return lanes > 1 && lanes == channels; }
  bool blocked() const { return lanes > 1 && lanes != channels; }
  size_t pixels() const { return outer * inner; }
  BlockedChannels blocks() const { return {outer, channels, inner, lanes}; }
};

// The functions of batch_norm.hpp and elementwise.hpp on arrays in any order; of doubles, which are
// never in blocks, but there.

template <typename T>
void ChannelMoments(const ChannelOrder& s, const T* x, double* mean, double* variance) {
  if constexpr (!std::is_same<T, double>::value) {
    if (s.blocked()) return BlockedMoments(s.blocks(), x, mean, variance);
  }
  s.last() ? PixelMoments(s.pixels(), s.channels, x, mean, variance)
           : ChannelMoments(s.outer, s.channels, s.inner, x, mean, variance);
}
template <typename X, typename Z>
void ChannelSums(const ChannelOrder& s, const X* x, const Z* z, double* sum, double* dot) {
  if constexpr (!std::is_same<X, double>::value) {
    if (s.blocked()) return BlockedSums(s.blocks(), x, z, sum, dot);
  }
  s.last() ? SumsOverPixels(s.pixels(), s.channels, x, z, sum, dot)
           : ChannelSums(s.outer, s.channels, s.inner, x, z, sum, dot);
}
template <typename T>
void ChannelAffine(const ChannelOrder& s, const AccumulatorType<T>* a, const AccumulatorType<T>* b,
                   const T* x, T* y) {
  if constexpr (!std::is_same<T, double>::value) {
    if (s.blocked()) return BlockedAffine(s.blocks(), a, b, x, y);
  }
  s.last() ? PixelAffine(s.pixels(), s.channels, a, b, x, y)
           : ChannelAffine(s.outer, s.channels, s.inner, a, b, x, y);
}
/// y = a[c] x + b[c] and z = c[c] x + d[c]; z may be x, y not.
template <typename T>
void ChannelAffineTwice(const ChannelOrder& s, const AccumulatorType<T>* a,
                        const AccumulatorType<T>* b, const AccumulatorType<T>* c,
                        const AccumulatorType<T>* d, const T* x, T* y, T* z) {
  if constexpr (!std::is_same<T, double>::value) {
    if (s.blocked()) return BlockedAffineTwice(s.blocks(), a, b, c, d, x, y, z);
  }
  if (s.last()) return PixelAffineTwice(s.pixels(), s.channels, a, b, c, d, x, y, z);
  ChannelAffine(s.outer, s.channels, s.inner, a, b, x, y);
  ChannelAffine(s.outer, s.channels, s.inner, c, d, x, z);
}
template <typename Z, typename X>
void ChannelCombine(const ChannelOrder& s, const AccumulatorType<X>* a, const X* x,
                    const AccumulatorType<X>* b, const Z* z, const AccumulatorType<X>* d, X* y) {
  if constexpr (!std::is_same<X, double>::value) {
    if (s.blocked()) return BlockedCombine(s.blocks(), a, x, b, z, d, y);
  }
  s.last() ? PixelCombine(s.pixels(), s.channels, a, x, b, z, d, y)
           : ChannelCombine(s.outer, s.channels, s.inner, a, x, b, z, d, y);
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CHANNELS_HPP_
