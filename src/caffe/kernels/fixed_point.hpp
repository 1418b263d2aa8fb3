#ifndef CAFFE_KERNELS_FIXED_POINT_HPP_
#define CAFFE_KERNELS_FIXED_POINT_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"
#include "caffe/multiplier.hpp"

// Multiplication of integers by real numbers without floating point: B. Jacob et al., Quantization
// and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference
// (arXiv:1712.05877), section 2.2 and appendix A.
namespace caffe::kernels {

/// round(a b / 2^31), halves up. Not for a = b = -2^31.
CAFFE_HOST_DEVICE inline int32_t RoundingDoublingHighMultiply(int32_t a, int32_t b) {
  return static_cast<int32_t>((int64_t{a} * b + (int64_t{1} << 30)) >> 31);
}

/// round(x / 2^shift), halves away from zero; 0 <= shift <= 31.
CAFFE_HOST_DEVICE inline int32_t RoundingShiftRight(int32_t x, int shift) {
  if (shift == 0) return x;
  const int64_t half = int64_t{1} << (shift - 1);
  return static_cast<int32_t>((int64_t{x} + half - (x < 0 ? 1 : 0)) >> shift);
}

/// x times the multiplier. With a positive shift x * 2^shift has to fit 32 bits.
CAFFE_HOST_DEVICE inline int32_t Rescale(int32_t x, Multiplier by, Rounding rounding) {
  if (rounding == Rounding::SINGLE) {
    const int right = 31 - by.shift;  // 1 to 62
    return static_cast<int32_t>((int64_t{x} * by.value + (int64_t{1} << (right - 1))) >> right);
  }
  const int32_t left = by.shift > 0 ? x * (int32_t{1} << by.shift) : x;
  return RoundingShiftRight(RoundingDoublingHighMultiply(left, by.value),
                            by.shift < 0 ? -by.shift : 0);
}

/// How the 32-bit sums of a layer with weights become bytes, with integers alone:
///
///     y = clamp(zero_point + Rescale(sum + bias[o], (multipliers[o], shifts[o])), least, most)
///
/// `sum` is of products of the stored bytes, including the padding, whose value is the input's zero
/// point. The bias compensates for zero points: it includes -input_zero_point times the sum of the
/// output's weights (equation 7 of the paper).
struct Rescaling {
  const int32_t* bias = nullptr;         ///< of each output
  const int32_t* multipliers = nullptr;  ///< of each output: values of Multiplier
  const int32_t* shifts = nullptr;       ///< of each output
  /// The multiplier of each output's negative sums (PReLU, leaky ReLU); or null. Values of negative
  /// slopes are negative.
  const int32_t* negative_multipliers = nullptr;
  const int32_t* negative_shifts = nullptr;
  Rounding rounding = Rounding::DOUBLE;
  int32_t input_zero_point = 0;   ///< the byte that pads the input
  int32_t zero_point = 0;         ///< the output's
  int32_t least = 0, most = 255;  ///< bytes that the output may be
};

/// One sum's output.
CAFFE_HOST_DEVICE inline int32_t Rescaled(const Rescaling& by, int output, int32_t sum) {
  // Modulo 2^32: the total fits, but the sum alone need not.
  const int32_t total =
      static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(by.bias[output]));
  const bool other = total < 0 && by.negative_multipliers != nullptr;
  const Multiplier multiplier =
      other ? Multiplier{by.negative_multipliers[output], by.negative_shifts[output]}
            : Multiplier{by.multipliers[output], by.shifts[output]};
  const int32_t y = by.zero_point + Rescale(total, multiplier, by.rounding);
  return y < by.least ? by.least : y > by.most ? by.most : y;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_FIXED_POINT_HPP_
