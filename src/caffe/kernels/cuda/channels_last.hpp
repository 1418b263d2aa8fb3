#ifndef CAFFE_KERNELS_CUDA_CHANNELS_LAST_HPP_
#define CAFFE_KERNELS_CUDA_CHANNELS_LAST_HPP_

#include <cstddef>
#include <vector>

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/pooling.hpp"

namespace caffe::cuda {

// What engines compute on a GPU besides convolutions and products: kernels on device memory for
// channels-last arrays. A pixel is a position in an image; images are contiguous. All types are
// FLOAT, FLOAT16, BFLOAT16, INT8 or UINT8, in any combination unless stated otherwise. Arithmetic
// is in float. 8-bit integers stand for (q - zero_point) * scale; results that become one are
// multiplied by 1 / scale, rounded to the nearest integer (halves to even) and, with the zero point
// added, saturated to [-127, 127] or [0, 255]; a NaN becomes 0: the same bits as the CPU's kernels
// write. Several channels are read and written at once if addresses, strides and counts are
// multiples of 16 bytes (8 channels), which makes kernels several times faster.
//
// Nothing is allocated and nothing waits, so all of it may be captured in a CUDA graph. Throws
// Error for other types, and for arrays of more than 2^31 - 1 elements.

/// Pixels of channels: channel c of pixel p is element p * stride + c. So a Concat or Slice along
/// channels is done by writing or reading in place. Arrays without channels are one pixel.
struct Pixels {
  void* data = nullptr;
  ElementType type = ElementType::FLOAT;
  int stride = 0;      ///< elements from one pixel to the next, at least the channels
  float scale = 1;     ///< factor of an integer; for INT8 and UINT8
  int zero_point = 0;  ///< the integer that stands for 0; PoolMeans takes none
};

/// Caffe's order, (images, channels, spatial): channel c at position s of image n is element
/// n * stride + c * spatial + s.
struct Planes {
  void* data = nullptr;
  ElementType type = ElementType::FLOAT;
  size_t stride = 0;  ///< elements from one image to the next, at least channels * spatial
  float scale = 1;
  int zero_point = 0;
};

/// y = f(a[c] x + b[c] + residual), f being an activation of PostOps, with slopes on the device; a
/// null means 1, b null 0. `residual` may be null; y may be x or the residual if strides and types
/// are the same. The terms are added in this order, each rounded.
void ApplyToPixels(Stream& stream, int pixels, int channels, const Pixels& x, const float* a,
                   const float* b, const Pixels* residual, const kernels::Activation& f,
                   const Pixels& y);

/// The same in Caffe's order.
void ApplyToPlanes(Stream& stream, int images, int channels, int spatial, const Planes& x,
                   const float* a, const float* b, const Planes* residual,
                   const kernels::Activation& f, const Planes& y);

enum class Combination { SUM, PRODUCT, MAXIMUM };
/// y = f(the sum of coefficients[i] x[i], or the product or maximum of x[i]), of at least one and
/// at most kMaxCombined arrays. `coefficients` has one number per array, or none: all 1; only sums
/// read it. y may be one of x where strides and types are the same.
constexpr size_t kMaxCombined = 16;
void CombinePixels(Stream& stream, Combination combination, int pixels, int channels,
                   const std::vector<Pixels>& x, const std::vector<float>& coefficients,
                   const kernels::Activation& f, const Pixels& y);

/// y = the largest value of each window, as kernels::MaxPoolingForward; shape.planes is the number
/// of images. x and y have the same type and, for integers, the same scale: y.scale is not read.
/// Windows without numbers give the lowest value of the type, -127 for INT8.
void PoolMaxima(Stream& stream, const kernels::PoolingShape& shape, int channels, const Pixels& x,
                const Pixels& y);
/// y = the mean of each window by Caffe's rule, as kernels::AveragePoolingForward. Integers: the
/// exact sum divided by the window's size, times x.scale / y.scale, rounded. x and y have the same
/// type.
void PoolMeans(Stream& stream, const kernels::PoolingShape& shape, int channels, const Pixels& x,
               const Pixels& y);

/// y = x in y's type. Elements of the same type (and scale, for integers) are copied unchanged.
void CopyPixels(Stream& stream, int pixels, int channels, const Pixels& x, const Pixels& y);

/// The same from Caffe's order, and back. With `filled` > channels (at most y.stride) the channels
/// [channels, filled) of y become 0: convolutions need whole groups of channels.
void ToChannelsLast(Stream& stream, int images, int channels, int spatial, const Planes& x,
                    const Pixels& y, int filled);
void FromChannelsLast(Stream& stream, int images, int channels, int spatial, const Pixels& x,
                      const Planes& y);
/// What ToChannelsLast and FromChannelsLast do for whole arrays of one type: FLOAT, FLOAT16 or
/// DOUBLE.
void TurnToChannelsLast(Stream& stream, ElementType type, int images, int channels, int spatial,
                        const void* x, void* y);
void TurnFromChannelsLast(Stream& stream, ElementType type, int images, int channels, int spatial,
                          const void* x, void* y);

/// The same from Caffe's order to itself.
void CopyPlanes(Stream& stream, int images, int channels, int spatial, const Planes& x,
                const Planes& y);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_CHANNELS_LAST_HPP_
