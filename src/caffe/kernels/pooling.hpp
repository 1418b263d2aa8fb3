#ifndef CAFFE_KERNELS_POOLING_HPP_
#define CAFFE_KERNELS_POOLING_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/element_type.hpp"
#include "caffe/kernels/channels_last.hpp"

namespace caffe::kernels {

/// The sizes of 2-D pooling over `planes` images and channels together.
struct PoolingShape {
  size_t planes = 0;
  int height = 0, width = 0;
  int pooled_height = 0, pooled_width = 0;
  int kernel_h = 0, kernel_w = 0, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;

  size_t input_plane() const { return size_t(height) * width; }
  size_t output_plane() const { return size_t(pooled_height) * pooled_width; }
};

// Masks say which element of its window became the output: row * kernel_w + column within the
// window, which may begin in the padding. I is uint8_t where ByteMask, else int; 255, or -1, marks
// a window without numbers.

/// True if a window's positions fit a byte.
inline bool ByteMask(const PoolingShape& s) { return int64_t(s.kernel_h) * s.kernel_w < 256; }

/// y = the largest value in each window, the first of equal ones; with `mask`, if it is not null.
template <typename T, typename I>
void MaxPoolingForward(const PoolingShape& shape, const T* x, T* y, I* mask);

/// y = one value of each window, drawn with probability value / sum of the window: the first at
/// which the running sum reaches `draws` (in [0, 1), one per output) times the sum.
template <typename T, typename I>
void StochasticPoolingForward(const PoolingShape& shape, const T* x, const float* draws, T* y,
                              I* mask);
/// y = the expected value of the same: each window's sum of squares divided by its sum, 0 unless
/// that is positive.
template <typename T>
void ExpectedPoolingForward(const PoolingShape& shape, const T* x, T* y);

/// dx = dy at the positions in `mask`, added up; else 0.
template <typename D, typename I>
void MaskPoolingBackward(const PoolingShape& shape, const D* dy, const I* mask, D* dx);

/// positions = the position h * width + w in the plane of what `mask` says, -1 for none.
template <typename I, typename Dtype>
void MaskPositions(const PoolingShape& shape, const I* mask, Dtype* positions);

/// y = the sum over each window, divided by the window's size when clipped only at the far edge of
/// the padding (Caffe's rule: padding counts).
template <typename T>
void AveragePoolingForward(const PoolingShape& shape, const T* x, T* y);
template <typename D>
void AveragePoolingBackward(const PoolingShape& shape, const D* dy, D* dx);

// The same for channels in blocks of 8 or 16: x (planes, height, width, block), y likewise, a plane
// being a block of channels of one image. T: float, float16, bfloat16, and for maxima int8_t or
// uint8_t. Sums are float.
template <typename T>
void BlockedMaxPoolingForward(const PoolingShape& shape, int block, const T* x, T* y);
template <typename T>
void BlockedAveragePoolingForward(const PoolingShape& shape, int block, const T* x, T* y);
// 8 bits. Maxima keep the scale of x; a window without numbers gives the minimum value, -127 or 0.
// Means are, in float, the exact sum divided by the window's size, then times `factor` (x's scale /
// y's), rounded to the nearest integer (halves to even) and saturated to [-127, 127] or [0, 255]:
// the same bits on every instruction set. For windows of up to 65,000 positions.
template <typename T>
void BlockedAveragePoolingForward(const PoolingShape& shape, int block, float factor, const T* x,
                                  T* y);

// The same with channels last, bit for bit; a plane is an image. Padding of zeros stays zeros, but
// for maxima of windows without numbers. T: float, float16, bfloat16, and for maxima, and means
// with a factor, int8_t or uint8_t. Throws Error where the channels do not Check.
template <typename T>
void ChannelsLastMaxPoolingForward(const PoolingShape& shape, const ChannelsLast& channels,
                                   const T* x, T* y);
template <typename T>
void ChannelsLastAveragePoolingForward(const PoolingShape& shape, const ChannelsLast& channels,
                                       const T* x, T* y);
template <typename T>
void ChannelsLastAveragePoolingForward(const PoolingShape& shape, const ChannelsLast& channels,
                                       float factor, const T* x, T* y);

// With channels last and nothing between pixels, any number of channels; planes are images. Mask
// and gradients lie as the outputs. T, D: float or float16.

/// MaxPoolingForward; `mask` may be null.
template <typename T, typename I>
void PixelMaxPoolingForward(const PoolingShape& shape, size_t channels, const T* x, T* y, I* mask);
/// Gradients of a position are added up in float and rounded once.
template <typename D, typename I>
void PixelMaskPoolingBackward(const PoolingShape& shape, size_t channels, const D* dy,
                              const I* mask, D* dx);
template <typename T>
void PixelAveragePoolingForward(const PoolingShape& shape, size_t channels, const T* x, T* y);
template <typename D>
void PixelAveragePoolingBackward(const PoolingShape& shape, size_t channels, const D* dy, D* dx);

/// The inverse of pooling with positions: y = x at the positions h * width + w in `positions` (of
/// the larger plane), the last of equal ones; else 0. Throws Error for positions outside.
template <typename T, typename Dtype>
void UnpoolingForward(size_t planes, size_t inputs, size_t outputs, const T* x,
                      const Dtype* positions, T* y);
/// dx = dy at the positions.
template <typename D, typename Dtype>
void UnpoolingBackward(size_t planes, size_t inputs, size_t outputs, const D* dy,
                       const Dtype* positions, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_POOLING_HPP_
