#ifndef CAFFE_FLOAT16_HPP_
#define CAFFE_FLOAT16_HPP_

#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>
#include <type_traits>

namespace caffe {

namespace half_detail {

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline uint64_t BitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Rounds an IEEE 754 number to 16 bits with `exponent_bits` of exponent, to nearest even, in
/// integers only, so that the processor's denormal and rounding modes do not matter. Overflow gives
/// infinity, subnormals are kept, a NaN stays a NaN, quiet, with the top bits of its payload.
template <int exponent_bits, typename Bits>
uint16_t Narrow(Bits bits, int from_mantissa_bits, int from_bias) {
  constexpr int kMantissaBits = 15 - exponent_bits;
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr uint16_t kInfinity = ((1 << exponent_bits) - 1) << kMantissaBits;
  constexpr int kWidth = 8 * sizeof(Bits);

  const uint16_t sign = static_cast<uint16_t>(bits >> (kWidth - 16)) & 0x8000;
  const Bits magnitude = bits & ((Bits(1) << (kWidth - 1)) - 1);
  const Bits mantissa = magnitude & ((Bits(1) << from_mantissa_bits) - 1);
  const int from_exponent = static_cast<int>(magnitude >> from_mantissa_bits);
  const int dropped = from_mantissa_bits - kMantissaBits;

  if (from_exponent == 2 * from_bias + 1) {
    if (mantissa == 0) return sign | kInfinity;
    return sign | kInfinity | (1 << (kMantissaBits - 1)) | static_cast<uint16_t>(mantissa >> dropped);
  }
  const int exponent = from_exponent - from_bias + kBias;
  if (exponent > 2 * kBias) return sign | kInfinity;

  // A normal result drops `dropped` bits below the mantissa with its exponent in front; a
  // subnormal one is the whole significand shifted further. A carry out of the mantissa goes into
  // the exponent by itself, up to infinity.
  Bits significand = mantissa;
  int shift = dropped;
  if (exponent > 0) {
    significand |= Bits(exponent) << from_mantissa_bits;
  } else {
    if (from_exponent > 0) significand |= Bits(1) << from_mantissa_bits;
    shift += (from_exponent > 0 ? 1 - exponent : -(kBias - from_bias));
    if (shift > from_mantissa_bits + 1) return sign;
  }
  const Bits half = Bits(1) << (shift - 1);
  const Bits rest = significand & ((Bits(1) << shift) - 1);
  Bits rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1))) ++rounded;
  return sign | static_cast<uint16_t>(rounded);
}

/// The float that a 16-bit number with 5 bits of exponent is; exact.
inline float WidenHalf(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) {
    return FloatOf(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  }
  if (exponent != 0) return FloatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return FloatOf(sign);
  uint32_t shifts = 0;
  while (!(mantissa & 0x400)) {
    mantissa <<= 1;
    ++shifts;
  }
  return FloatOf(sign | ((113 - shifts) << 23) | ((mantissa & 0x3ff) << 13));
}

template <typename T>
using IfArithmetic = std::enable_if_t<std::is_arithmetic<T>::value, int>;

/// `value` in float or double, whichever holds it well enough that rounding it again to 16 bits
/// rounds once: doubles hold every 32-bit integer; a longer one is cut to its top 53 bits with the
/// rest kept as a sticky bit.
template <typename T>
auto RoundingSource(T value) {
  if constexpr (std::is_same<T, float>::value) {
    return value;
  } else if constexpr (std::is_integral<T>::value && sizeof(T) > 4) {
    const bool negative = value < T(0);
    uint64_t magnitude = negative ? uint64_t(0) - uint64_t(value) : uint64_t(value);
    const uint64_t low = magnitude & 0xfff;
    if (magnitude >> 52) magnitude = (magnitude & ~uint64_t(0xfff)) | (low ? 0x800 : 0);
    return negative ? -double(magnitude) : double(magnitude);
  } else {
    return static_cast<double>(value);
  }
}

template <int exponent_bits>
uint16_t Round(float value) {
  return Narrow<exponent_bits>(BitsOf(value), 23, 127);
}
template <int exponent_bits>
uint16_t Round(double value) {
  return Narrow<exponent_bits>(BitsOf(value), 52, 1023);
}

}  // namespace half_detail

/// IEEE 754 binary16. Conversion from any arithmetic type rounds once, to nearest even; arithmetic
/// is done in float and rounded.
struct float16 {
  uint16_t bits;

  float16() = default;
  template <typename T, half_detail::IfArithmetic<T> = 0>
  float16(T value)  // NOLINT: numbers become float16 as they become float
      : bits(half_detail::Round<5>(half_detail::RoundingSource(value))) {}

  static constexpr float16 FromBits(uint16_t bits) { return float16(bits, Raw()); }

  explicit operator float() const { return half_detail::WidenHalf(bits); }
  template <typename T, half_detail::IfArithmetic<T> = 0>
  explicit operator T() const {
    return static_cast<T>(half_detail::WidenHalf(bits));
  }

 private:
  struct Raw {};
  constexpr float16(uint16_t pattern, Raw) : bits(pattern) {}
};

/// The upper half of a float: 8 bits of exponent, 7 of mantissa.
struct bfloat16 {
  uint16_t bits;

  bfloat16() = default;
  template <typename T, half_detail::IfArithmetic<T> = 0>
  bfloat16(T value)  // NOLINT
      : bits(half_detail::Round<8>(half_detail::RoundingSource(value))) {}

  static constexpr bfloat16 FromBits(uint16_t bits) { return bfloat16(bits, Raw()); }

  explicit operator float() const { return half_detail::FloatOf(uint32_t(bits) << 16); }
  template <typename T, half_detail::IfArithmetic<T> = 0>
  explicit operator T() const {
    return static_cast<T>(static_cast<float>(*this));
  }

 private:
  struct Raw {};
  constexpr bfloat16(uint16_t pattern, Raw) : bits(pattern) {}
};

}  // namespace caffe

#endif  // CAFFE_FLOAT16_HPP_
