#ifndef CAFFE_KERNELS_INTEGER_RESIZE_HPP_
#define CAFFE_KERNELS_INTEGER_RESIZE_HPP_

#include <cstdint>
#include <vector>

#include "caffe/kernels/host_device.hpp"
#include "caffe/kernels/resize.hpp"

namespace caffe::kernels {

constexpr int kResizeWeightBits = 11;
/// Fractional bits of products with weights of both axes, and a half.
constexpr int kResizeShift = 2 * kResizeWeightBits;
constexpr int32_t kResizeHalf = 1 << (kResizeShift - 1);

/// The weights of an axis in whole units of 2^-11. Where an output's weights sum to 1, these sum to
/// 2^11: the largest one absorbs the rounding error.
std::vector<int32_t> ResizeWeights(const ResizeAxis& axis);

/// The byte of a sum of products with weights of both axes.
CAFFE_HOST_DEVICE inline int32_t ResizedByte(int64_t sum, int32_t zero_point, int32_t least,
                                             int32_t most) {
  const int64_t y = zero_point + ((sum + kResizeHalf) >> kResizeShift);
  return static_cast<int32_t>(y < least ? least : y > most ? most : y);
}

/// ResizeForward of 8-bit integers; y has x's scale and zero point. Sums of products of both axes'
/// weights with x minus its zero point, in units of 2^-22, are rounded to the nearest integer,
/// halves up, and clamped to [least, most]. Planes have a block of `block` channels at each
/// position, or one. T: int8_t or uint8_t.
template <typename T>
void ResizeIntegers(size_t planes, int block, const ResizeAxis& h, const ResizeAxis& w,
                    int32_t zero_point, int32_t least, int32_t most, const T* x, T* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INTEGER_RESIZE_HPP_
