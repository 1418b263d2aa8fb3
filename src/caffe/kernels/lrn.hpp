#ifndef CAFFE_KERNELS_LRN_HPP_
#define CAFFE_KERNELS_LRN_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/element_type.hpp"
#include "caffe/kernels/channels_last.hpp"

namespace caffe::kernels {

/// Local response normalisation of (num, channels, height, width); the formulas: lrn_layer.hpp.
struct LrnShape {
  int num = 0, channels = 0, height = 0, width = 0;
  int size = 5;  ///< extent of the window, odd
  bool within_channel = false;
  double alpha = 1, beta = 0.75, k = 1;
};

/// y = x / s^beta.
template <typename T>
void LrnForward(const LrnShape& shape, const T* x, T* y);

/// The same across channels, in blocks of `block` (8 or 16), the last one padded with zeros, in the
/// output too: (num, channels / block, height, width, block). T: float or float16.
template <typename T>
void BlockedLrnForward(const LrnShape& shape, int block, const T* x, T* y);

/// The same for 8-bit integers that stand for x_scale x: computed in float, then multiplied by
/// y_factor (1 / scale), rounded and saturated as by Quantize. X, Y: int8_t or uint8_t.
template <typename X, typename Y>
void BlockedLrnForward(const LrnShape& shape, int block, float x_scale, const X* x, float y_factor,
                       Y* y);

/// The same two with channels last, with zeros in the padding; y may be x if their pixels are as
/// far apart. T: float, float16 or bfloat16. Throws Error for windows within a channel, and where
/// the channels do not Check.
template <typename T>
void ChannelsLastLrnForward(const LrnShape& shape, const ChannelsLast& channels, const T* x, T* y);
template <typename X, typename Y>
void ChannelsLastLrnForward(const LrnShape& shape, const ChannelsLast& channels, float x_scale,
                            const X* x, float y_factor, Y* y);

/// LrnForward and LrnBackward across channels that lie last, any number of them, with nothing
/// between pixels: (num, height, width, channels). T, D: float or float16.
template <typename T>
void PixelLrnForward(const LrnShape& shape, const T* x, T* y);
template <typename T, typename D>
void PixelLrnBackward(const LrnShape& shape, const T* x, const D* dy, D* dx);

/// LrnBackward across channels in blocks, zeros in the padding. T, D: float or float16.
template <typename T, typename D>
void BlockedLrnBackward(const LrnShape& shape, int block, const T* x, const D* dy, D* dx);

/// dx = dy / s^beta - 2 alpha beta / n * x * the sum over windows of dy x / s^(beta + 1). s is
/// recomputed.
template <typename T, typename D>
void LrnBackward(const LrnShape& shape, const T* x, const D* dy, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_LRN_HPP_
