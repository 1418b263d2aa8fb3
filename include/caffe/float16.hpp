#ifndef CAFFE_FLOAT16_HPP_
#define CAFFE_FLOAT16_HPP_

#include "caffe/cpp17.hpp"

#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>
#include <type_traits>
#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace caffe {

// Conversions are constant expressions where the compiler can reinterpret bits in one.
#if defined(__has_builtin)
#if __has_builtin(__builtin_bit_cast)
#define CAFFE_HALF_BIT_CAST 1
#endif
#endif
#if defined(CAFFE_HALF_BIT_CAST)
#define CAFFE_HALF_CONSTEXPR constexpr
#else
#define CAFFE_HALF_CONSTEXPR
#endif

namespace half_detail {

/// The bits of `from` as a To of the same size.
template <typename To, typename From>
CAFFE_HALF_CONSTEXPR To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
#if defined(CAFFE_HALF_BIT_CAST)
  return __builtin_bit_cast(To, from);
#else
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
#endif
}

inline CAFFE_HALF_CONSTEXPR uint32_t BitsOf(float value) { return BitCast<uint32_t>(value); }
inline CAFFE_HALF_CONSTEXPR uint64_t BitsOf(double value) { return BitCast<uint64_t>(value); }
inline CAFFE_HALF_CONSTEXPR float FloatOf(uint32_t bits) { return BitCast<float>(bits); }

/// Rounds an IEEE 754 number to 16 bits with `exponent_bits` of exponent, to nearest even, in
/// integers only, so that the processor's denormal and rounding modes do not matter. Overflow gives
/// infinity, subnormals are kept, a NaN stays a NaN, quiet, with the top bits of its payload.
template <int exponent_bits, typename Bits>
constexpr uint16_t Narrow(Bits bits, int from_mantissa_bits, int from_bias) {
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
inline CAFFE_HALF_CONSTEXPR float WidenHalf(uint16_t bits) {
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

/// The double that a 16-bit number with 8 bits of exponent is. A subnormal one is a subnormal
/// float, which a processor told to take those for zero would lose.
inline CAFFE_HALF_CONSTEXPR double WidenBFloat16ToDouble(uint16_t bits) {
  const uint16_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x80) return FloatOf(uint32_t(bits) << 16);
  constexpr double kUnit = 1. / (uint64_t(1) << 63) / (uint64_t(1) << 63) / 128;  // 2^-133
  return bits & 0x8000 ? -(magnitude * kUnit) : magnitude * kUnit;
}

template <typename T>
using IfArithmetic = std::enable_if_t<std::is_arithmetic<T>::value, int>;

/// Another library's binary16 class: Eigen::half's bits are its member x, and x is an integer.
template <typename Other>
using IfHalfClass = std::enable_if_t<sizeof(Other) == 2 && std::is_class<Other>::value &&
                                         std::is_integral<decltype(Other::x)>::value,
                                     int>;

/// `value` in float or double, whichever holds it well enough that rounding it again to 16 bits
/// rounds once: doubles hold every 32-bit integer; of a longer integer or float the bits that do
/// not fit are kept as one sticky bit.
template <typename T>
constexpr auto RoundingSource(T value) {
  if constexpr (std::is_same<T, float>::value) {
    return value;
  } else if constexpr (std::is_same<T, long double>::value) {
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
CAFFE_HALF_CONSTEXPR uint16_t Round(float value) {
  return Narrow<exponent_bits>(BitsOf(value), 23, 127);
}
template <int exponent_bits>
CAFFE_HALF_CONSTEXPR uint16_t Round(double value) {
  return Narrow<exponent_bits>(BitsOf(value), 52, 1023);
}
// Rounded to odd on the way to double: an inexact even neighbour gives way to the odd one on the
// other side of `value`.
template <int exponent_bits>
CAFFE_HALF_CONSTEXPR uint16_t Round(long double value) {
  uint64_t bits = BitsOf(static_cast<double>(value));
  const double nearest = static_cast<double>(value);
  const bool finite = (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
  if (finite && static_cast<long double>(nearest) != value && (bits & 1) == 0) {
    const bool beyond = (bits >> 63 != 0) == (static_cast<long double>(nearest) < value);
    bits += beyond ? uint64_t(-1) : uint64_t(1);
  }
  return Narrow<exponent_bits>(bits, 52, 1023);
}

}  // namespace half_detail

/// IEEE 754 binary16. Conversion from any arithmetic type rounds once, to nearest even; arithmetic
/// is done in float and rounded.
struct float16 {
  static constexpr uint16_t kInfinity = 0x7c00;  ///< bits of infinity; NaNs lie above
  uint16_t bits;

  float16() = default;
  template <typename T, half_detail::IfArithmetic<T> = 0>
  CAFFE_HALF_CONSTEXPR float16(T value)  // NOLINT: numbers become float16 as they become float
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
#if defined(__ARM_FP16_FORMAT_IEEE)
  float16(__fp16 value) { std::memcpy(&bits, &value, sizeof(bits)); }  // NOLINT
  explicit operator __fp16() const {
    __fp16 value;
    std::memcpy(&value, &bits, sizeof(bits));
    return value;
  }
#endif
#if defined(__CUDACC__)
  float16(__half value) { std::memcpy(&bits, &value, sizeof(bits)); }  // NOLINT
  explicit operator __half() const { return To<__half>(); }
#endif
  template <typename Other, half_detail::IfHalfClass<Other> = 0>
  explicit float16(const Other& other) : bits(static_cast<uint16_t>(other.x)) {}
  template <typename Other, half_detail::IfHalfClass<Other> = 0>
  explicit operator Other() const {
    Other other;
    other.x = bits;
    return other;
  }
  /// From and to any other class of 16 bits in this format.
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

  explicit CAFFE_HALF_CONSTEXPR operator float() const { return half_detail::WidenHalf(bits); }
  template <typename T, half_detail::IfArithmetic<T> = 0>
  explicit CAFFE_HALF_CONSTEXPR operator T() const {
    return static_cast<T>(half_detail::WidenHalf(bits));
  }

 private:
  struct Raw {};
  constexpr float16(uint16_t pattern, Raw) : bits(pattern) {}
};

/// The upper half of a float: 8 bits of exponent, 7 of mantissa.
struct bfloat16 {
  static constexpr uint16_t kInfinity = 0x7f80;
  uint16_t bits;

  bfloat16() = default;
  template <typename T, half_detail::IfArithmetic<T> = 0>
  CAFFE_HALF_CONSTEXPR bfloat16(T value)  // NOLINT
      : bits(half_detail::Round<8>(half_detail::RoundingSource(value))) {}

  static constexpr bfloat16 FromBits(uint16_t bits) { return bfloat16(bits, Raw()); }

  explicit CAFFE_HALF_CONSTEXPR operator float() const {
    return half_detail::FloatOf(uint32_t(bits) << 16);
  }
  template <typename T, half_detail::IfArithmetic<T> = 0>
  explicit CAFFE_HALF_CONSTEXPR operator T() const {
    return static_cast<T>(half_detail::WidenBFloat16ToDouble(bits));
  }

 private:
  struct Raw {};
  constexpr bfloat16(uint16_t pattern, Raw) : bits(pattern) {}
};

// Arithmetic in float, rounded once.
#define CAFFE_HALF_OPERATORS(Half)                                                                 \
  constexpr Half operator-(Half x) { return Half::FromBits(x.bits ^ 0x8000); }                     \
  inline CAFFE_HALF_CONSTEXPR Half operator+(Half x, Half y) { return Half(float(x) + float(y)); } \
  inline CAFFE_HALF_CONSTEXPR Half operator-(Half x, Half y) { return Half(float(x) - float(y)); } \
  inline CAFFE_HALF_CONSTEXPR Half operator*(Half x, Half y) { return Half(float(x) * float(y)); } \
  inline CAFFE_HALF_CONSTEXPR Half operator/(Half x, Half y) { return Half(float(x) / float(y)); } \
  inline Half& operator+=(Half& x, Half y) { return x = x + y; }                                   \
  inline Half& operator-=(Half& x, Half y) { return x = x - y; }                                   \
  inline Half& operator*=(Half& x, Half y) { return x = x * y; }                                   \
  inline Half& operator/=(Half& x, Half y) { return x = x / y; }                                   \
  inline CAFFE_HALF_CONSTEXPR bool operator==(Half x, Half y) { return float(x) == float(y); }     \
  inline CAFFE_HALF_CONSTEXPR bool operator!=(Half x, Half y) { return float(x) != float(y); }     \
  inline CAFFE_HALF_CONSTEXPR bool operator<(Half x, Half y) { return float(x) < float(y); }       \
  inline CAFFE_HALF_CONSTEXPR bool operator>(Half x, Half y) { return float(x) > float(y); }       \
  inline CAFFE_HALF_CONSTEXPR bool operator<=(Half x, Half y) { return float(x) <= float(y); }     \
  inline CAFFE_HALF_CONSTEXPR bool operator>=(Half x, Half y) { return float(x) >= float(y); }     \
  constexpr bool isnan(Half x) { return (x.bits & 0x7fff) > Half::kInfinity; }                     \
  constexpr bool isinf(Half x) { return (x.bits & 0x7fff) == Half::kInfinity; }                    \
  constexpr bool isfinite(Half x) { return (x.bits & 0x7fff) < Half::kInfinity; }                  \
  template <typename Char, typename Traits>                                                        \
  std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& stream, Half x) { \
    return stream << float(x);                                                                     \
  }
CAFFE_HALF_OPERATORS(float16)
CAFFE_HALF_OPERATORS(bfloat16)
#undef CAFFE_HALF_OPERATORS

namespace half_detail {

/// What float16 and bfloat16 have in common; `mantissa_bits` are those stored.
template <typename Half, int mantissa_bits, int least_exponent, uint16_t largest>
class Limits {
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
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = mantissa_bits + 1;
  // floor(p log10 2), ceil(1 + (p + 1) log10 2) with p stored bits, and the powers of ten in range.
  static constexpr int digits10 = mantissa_bits * 30103 / 100000;
  static constexpr int max_digits10 = 2 + digits * 30103 / 100000;
  static constexpr int min_exponent10 = least_exponent * 30103 / 100000;
  static constexpr int max_exponent10 = (2 - least_exponent) * 30103 / 100000;
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
  static constexpr Half signaling_NaN() {
    return Half::FromBits((largest + 1) | (1 << (mantissa_bits - 2)));
  }
  static constexpr Half denorm_min() { return Half::FromBits(1); }
  static constexpr Half round_error() { return Half::FromBits((-least_exponent) << mantissa_bits); }
};

}  // namespace half_detail
}  // namespace caffe

namespace std {

template <>
class numeric_limits<caffe::float16>
    : public caffe::half_detail::Limits<caffe::float16, 10, -14, 0x7bff> {};
template <>
class numeric_limits<caffe::bfloat16>
    : public caffe::half_detail::Limits<caffe::bfloat16, 7, -126, 0x7f7f> {};

}  // namespace std

#undef CAFFE_HALF_CONSTEXPR
#undef CAFFE_HALF_BIT_CAST

#endif  // CAFFE_FLOAT16_HPP_
