#include "caffe/kernels/convert.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kConversionGrain = 1 << 15;

template <typename From, typename To>
void ConvertSerial(size_t n, const From* x, To* y) {
  if constexpr (std::is_same<From, To>::value) {
    if (x != y) std::memcpy(y, x, n * sizeof(To));
  } else if constexpr (std::is_same<From, float16>::value && std::is_same<To, float>::value) {
    ChosenKernels().half_to_float(n, reinterpret_cast<const uint16_t*>(x), y);
  } else if constexpr (std::is_same<From, float>::value && std::is_same<To, float16>::value) {
    ChosenKernels().float_to_half(n, x, reinterpret_cast<uint16_t*>(y));
  } else if constexpr (std::is_same<From, bfloat16>::value && std::is_same<To, float>::value) {
    ChosenKernels().bfloat16_to_float(n, reinterpret_cast<const uint16_t*>(x), y);
  } else if constexpr (std::is_same<From, float>::value && std::is_same<To, bfloat16>::value) {
    ChosenKernels().float_to_bfloat16(n, x, reinterpret_cast<uint16_t*>(y));
  } else if constexpr (std::is_same<From, float16>::value && std::is_same<To, bfloat16>::value) {
    constexpr size_t kChunk = 1024;
    float wide[kChunk];
    for (size_t i = 0; i < n; i += kChunk) {
      const size_t count = std::min(kChunk, n - i);
      ConvertSerial(count, x + i, wide);
      ConvertSerial(count, wide, y + i);
    }
  } else if constexpr (std::is_arithmetic<From>::value) {
    for (size_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = static_cast<To>(static_cast<float>(x[i]));
  }
}

/// Rounds to nearest even and saturates to the range of To; NaN becomes `otherwise`.
template <typename To>
To Saturate(double value, To otherwise) {
  if (std::isnan(value)) return otherwise;
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  if (rounded >= static_cast<double>(std::numeric_limits<To>::max())) {
    return std::numeric_limits<To>::max();
  }
  return static_cast<To>(rounded);
}

struct Scaling {
  double scale;
  int zero_point;
};

template <typename T>
constexpr bool kIsInteger = std::is_integral<T>::value;

// Pairs with an integer on one or both sides: through double, which represents either exactly.
template <typename From, typename To>
void ConvertScaled(size_t n, const From* x, Scaling from, To* y, Scaling to) {
  for (size_t i = 0; i < n; ++i) {
    double value = static_cast<double>(x[i]);
    if constexpr (kIsInteger<From>) value = from.scale * (value - from.zero_point);
    if constexpr (kIsInteger<To>) {
      y[i] = Saturate<To>(std::nearbyint(value / to.scale) + to.zero_point,
                          static_cast<To>(to.zero_point));
    } else {
      y[i] = static_cast<To>(value);
    }
  }
}

template <typename Function>
void DispatchAny(ElementType type, Function&& f) {
  switch (type) {
    case ElementType::FLOAT:
      return f(float());
    case ElementType::DOUBLE:
      return f(double());
    case ElementType::FLOAT16:
      return f(float16());
    case ElementType::BFLOAT16:
      return f(bfloat16());
    case ElementType::INT8:
      return f(int8_t());
    case ElementType::UINT8:
      return f(uint8_t());
    case ElementType::INT32:
      return f(int());
    case ElementType::UINT32:
      return f(static_cast<unsigned int>(0));
  }
}

// 32-bit integers have no scale.
template <typename T>
Scaling ScalingOf(float scale, int zero_point) {
  return sizeof(T) == 1 ? Scaling{scale, zero_point} : Scaling{1., 0};
}

}  // namespace

template <typename From, typename To>
void Convert(size_t n, const From* x, To* y) {
  ParallelFor(n, kConversionGrain,
              [&](size_t begin, size_t end) { ConvertSerial(end - begin, x + begin, y + begin); });
}

void Convert(size_t n, ElementType from, const void* x, float from_scale, int from_zero_point,
             ElementType to, void* y, float to_scale, int to_zero_point) {
  DispatchAny(from, [&](auto from_tag) {
    DispatchAny(to, [&](auto to_tag) {
      using From = decltype(from_tag);
      using To = decltype(to_tag);
      const From* source = static_cast<const From*>(x);
      To* target = static_cast<To*>(y);
      if constexpr (!kIsInteger<From> && !kIsInteger<To>) {
        Convert(n, source, target);
      } else {
        ConvertScaled(n, source, ScalingOf<From>(from_scale, from_zero_point), target,
                      ScalingOf<To>(to_scale, to_zero_point));
      }
    });
  });
}

#define CAFFE_CONVERT_FROM(From)                        \
  template void Convert(size_t, const From*, float*);   \
  template void Convert(size_t, const From*, double*);  \
  template void Convert(size_t, const From*, float16*); \
  template void Convert(size_t, const From*, bfloat16*)
CAFFE_CONVERT_FROM(float);
CAFFE_CONVERT_FROM(double);
CAFFE_CONVERT_FROM(float16);
CAFFE_CONVERT_FROM(bfloat16);
#undef CAFFE_CONVERT_FROM

}  // namespace caffe::kernels
