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
    return sign | kInfinity | (1 << (kMantissaBits - 1)) |
           static_cast<uint16_t>(mantissa >> dropped);
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
#if defined(__FLT16_MANT_DIG__)
  float16(_Float16 value) { std::memcpy(&bits, &value, sizeof(bits)); }  // NOLINT
  explicit operator _Float16() const {
    _Float16 value;
    std::memcpy(&value, &bits, sizeof(bits));
    return value;
  }
#endif
  /// From and to another library's binary16 class (CUDA's __half, Eigen::half), which is 16 bits
  /// of the same format.
  template <typename Other>
  static float16 From(const Other& other) {
    static_assert(sizeof(Other) == 2 && std::is_class<Other>::value, "not a 16-bit float class");
    float16 value;
    std::memcpy(&value.bits, static_cast<const void*>(&other), sizeof(value.bits));
    return value;
  }
  template <typename Other>
  Other To() const {
    static_assert(sizeof(Other) == 2 && std::is_class<Other>::value, "not a 16-bit float class");
    Other other;
    std::memcpy(static_cast<void*>(&other), &bits, sizeof(bits));
    return other;
  }

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

// Arithmetic in float, rounded once.
#define CAFFE_HALF_OPERATORS(Half)                                                                 \
  inline Half operator-(Half x) { return Half::FromBits(x.bits ^ 0x8000); }                        \
  inline Half operator+(Half x, Half y) { return Half(float(x) + float(y)); }                      \
  inline Half operator-(Half x, Half y) { return Half(float(x) - float(y)); }                      \
  inline Half operator*(Half x, Half y) { return Half(float(x) * float(y)); }                      \
  inline Half operator/(Half x, Half y) { return Half(float(x) / float(y)); }                      \
  inline Half& operator+=(Half& x, Half y) { return x = x + y; }                                   \
  inline Half& operator-=(Half& x, Half y) { return x = x - y; }                                   \
  inline Half& operator*=(Half& x, Half y) { return x = x * y; }                                   \
  inline Half& operator/=(Half& x, Half y) { return x = x / y; }                                   \
  inline bool operator==(Half x, Half y) { return float(x) == float(y); }                          \
  inline bool operator!=(Half x, Half y) { return float(x) != float(y); }                          \
  inline bool operator<(Half x, Half y) { return float(x) < float(y); }                            \
  inline bool operator>(Half x, Half y) { return float(x) > float(y); }                            \
  inline bool operator<=(Half x, Half y) { return float(x) <= float(y); }                          \
  inline bool operator>=(Half x, Half y) { return float(x) >= float(y); }                          \
  inline bool isnan(Half x) { return float(x) != float(x); }                                       \
  inline bool isinf(Half x) { return x == Half(1e39) || x == Half(-1e39); }                        \
  inline bool isfinite(Half x) { return !isnan(x) && !isinf(x); }                                  \
  template <typename Char, typename Traits>                                                        \
  std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& stream, Half x) { \
    return stream << float(x);                                                                     \
  }
CAFFE_HALF_OPERATORS(float16)
CAFFE_HALF_OPERATORS(bfloat16)
#undef CAFFE_HALF_OPERATORS

}  // namespace caffe

namespace std {

/// What float16 and bfloat16 have in common; `mantissa_bits` are those stored.
template <typename Half, int mantissa_bits, int least_exponent, uint16_t largest>
class caffe_half_limits {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr float_denorm_style has_denorm = denorm_present;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = mantissa_bits + 1;
  static constexpr int min_exponent = least_exponent + 1;
  static constexpr int max_exponent = 1 - least_exponent + 1;
  static constexpr Half min() { return Half::FromBits(1 << mantissa_bits); }
  static constexpr Half max() { return Half::FromBits(largest); }
  static constexpr Half lowest() { return Half::FromBits(largest | 0x8000); }
  static constexpr Half epsilon() {
    return Half::FromBits((-least_exponent + 1 - mantissa_bits) << mantissa_bits);
  }
  static constexpr Half infinity() { return Half::FromBits(largest + 1); }
  static constexpr Half quiet_NaN() {
    return Half::FromBits((largest + 1) | (1 << (mantissa_bits - 1)));
  }
  static constexpr Half denorm_min() { return Half::FromBits(1); }
};

template <>
class numeric_limits<caffe::float16> : public caffe_half_limits<caffe::float16, 10, -14, 0x7bff> {};
template <>
class numeric_limits<caffe::bfloat16> : public caffe_half_limits<caffe::bfloat16, 7, -126, 0x7f7f> {
};

}  // namespace std

#endif  // CAFFE_FLOAT16_HPP_
