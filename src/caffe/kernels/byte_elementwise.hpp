#ifndef CAFFE_KERNELS_BYTE_ELEMENTWISE_HPP_
#define CAFFE_KERNELS_BYTE_ELEMENTWISE_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

// Element by element from 8-bit integers to 8-bit integers, through floats that are never all in
// memory at once.
namespace caffe::kernels {

/// Integers that stand for `scale` times their value.
struct ScaledBytes {
  const void* data = nullptr;
  bool is_unsigned = false;  ///< uint8_t, else int8_t
  float scale = 1;
};

enum class Combination { SUM, PRODUCT, MAXIMUM };

/// y = `factor` (1 / scale) times the sum, product or maximum of the x, rounded and saturated as by
/// Quantize. There is at least one x. Y: int8_t or uint8_t. y may be one of the x.
template <typename Y>
void CombineBytes(Combination combination, size_t n, const std::vector<ScaledBytes>& x,
                  float factor, Y* y);

/// Any function of one byte: y[i] = table[x[i]] for x (num, channels / block, spatial, block), as
/// uint8_t; the padding of the last block becomes 0. There is one table of 256 bytes for all
/// channels or, with `by_channel`, one for each, one after another. Block 1 is Caffe's order.
void LookUpBytes(size_t num, size_t channels, size_t spatial, size_t block, bool by_channel,
                 const uint8_t* tables, const uint8_t* x, uint8_t* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BYTE_ELEMENTWISE_HPP_
