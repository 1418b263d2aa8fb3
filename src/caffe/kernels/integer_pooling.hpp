#ifndef CAFFE_KERNELS_INTEGER_POOLING_HPP_
#define CAFFE_KERNELS_INTEGER_POOLING_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"
#include "caffe/kernels/pooling.hpp"

// Pooling of 8-bit integers with integers alone; y has x's scale and zero point. T: int8_t or
// uint8_t. Channels in blocks of `block` (a plane is a block of channels of an image), 1 for
// Caffe's order.
namespace caffe::kernels {

/// The range of a pooled byte.
struct ByteRange {
  int32_t least = 0, most = 255;
};

/// The middle of the bytes' range, away from which halves of means are rounded.
CAFFE_HOST_DEVICE inline int32_t MiddleOf(bool is_unsigned) { return is_unsigned ? 128 : 0; }
/// The positions that the mean of a window of `size` is over: with padding. One behind the image,
/// where strides are larger than the kernel, is a single position of padding.
CAFFE_HOST_DEVICE inline int32_t MeanPositions(int rows, int columns, int size) {
  return rows > 0 && columns > 0 ? size : 1;
}
/// The mean of `size` bytes; `sum` is that of their differences from `middle`.
CAFFE_HOST_DEVICE inline int32_t RoundedMean(int32_t sum, int32_t size, int32_t middle) {
  return middle + (sum < 0 ? sum - size / 2 : sum + size / 2) / size;
}

/// y = the largest byte of each window, clamped; a window without any gives range.least.
template <typename T>
void MaxPoolIntegers(const PoolingShape& shape, int block, ByteRange range, const T* x, T* y);

/// y = the mean of each window, clamped. Padding counts as in AveragePoolingForward, and is the
/// zero point. The mean is rounded to the nearest integer, halves away from 0 for int8_t and away
/// from 128 for uint8_t, so that both give the same numbers as LiteRT's AVERAGE_POOL_2D, which does
/// not count padding (where there is padding, as PAD before it). For windows of up to 2^23
/// positions.
template <typename T>
void AveragePoolIntegers(const PoolingShape& shape, int block, int32_t zero_point, ByteRange range,
                         const T* x, T* y);

// The same with channels last; a plane is an image. What fills up the last block is pooled, too:
// the mean of zeros is clamped, and neither is it zero where padding counts. Throws Error where the
// channels do not Check.
template <typename T>
void MaxPoolIntegers(const PoolingShape& shape, const ChannelsLast& channels, ByteRange range,
                     const T* x, T* y);
template <typename T>
void AveragePoolIntegers(const PoolingShape& shape, const ChannelsLast& channels,
                         int32_t zero_point, ByteRange range, const T* x, T* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INTEGER_POOLING_HPP_
