#ifndef CAFFE_TEST_ENGINE_VALUES_HPP_
#define CAFFE_TEST_ENGINE_VALUES_HPP_

#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/kernels/cuda/channels_last.hpp"
#include "cuda_kernels_test.hpp"
#include "int8_values.hpp"

// Arrays of any type that engines store, and what kernels for engines are to write into them.
namespace caffe {

constexpr ElementType kStoredTypes[] = {ElementType::FLOAT, ElementType::FLOAT16,
                                        ElementType::BFLOAT16, ElementType::INT8,
                                        ElementType::UINT8};

inline bool IsInteger(ElementType type) { return SizeOf(type) == 1; }

/// Calls f(T()) with the C++ type of a stored one.
template <typename F>
void DispatchStored(ElementType type, const F& f) {
  switch (type) {
    case ElementType::FLOAT16:
      return f(float16());
    case ElementType::BFLOAT16:
      return f(bfloat16());
    case ElementType::INT8:
      return f(int8_t());
    case ElementType::UINT8:
      return f(uint8_t());
    default:
      return f(float());
  }
}

/// What a kernel stores for `value` in this type; of integers, for value * factor.
inline float Written(ElementType type, float factor, float value) {
  float result = 0;
  DispatchStored(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) == 1) {
      result = static_cast<float>(kernels::Written<T>(value, factor));
    } else {
      result = static_cast<float>(static_cast<T>(value));
    }
  });
  return result;
}

/// The same in an array of this scale.
inline float Stored(ElementType type, float scale, float value) {
  return Written(type, 1 / scale, value);
}

/// An array on the device whose stored numbers (of integers, before their scale) the host knows.
class StoredArray {
 public:
  StoredArray(ElementType type, float scale, const std::vector<float>& stored)
      : type_(type),
        scale_(scale),
        stored_(stored),
        bytes_(std::make_unique<Array<unsigned char>>(Encoded())) {}

  /// Whole numbers for floating-point types, anything for integers.
  static StoredArray Random(ElementType type, float scale, size_t count, std::mt19937* random) {
    std::vector<float> stored(count);
    DispatchStored(type, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (sizeof(T) == 1) {
        const std::vector<T> values = kernels::Integers<T>(count, random);
        std::copy(values.begin(), values.end(), stored.begin());
      } else {
        stored = WholeNumbers<float>(count, random);
      }
    });
    return StoredArray(type, scale, stored);
  }

  ElementType type() const { return type_; }
  float scale() const { return scale_; }
  size_t size() const { return stored_.size(); }
  /// The number that element i stood for when it was made.
  float operator[](size_t i) const { return IsInteger(type_) ? stored_[i] * scale_ : stored_[i]; }
  float stored(size_t i) const { return stored_[i]; }
  void* device() { return bytes_->get(); }
  cuda::Pixels pixels(int stride, size_t offset = 0) {
    return {bytes_->get() + offset * SizeOf(type_), type_, stride, scale_};
  }
  cuda::Planes planes(size_t stride) { return {bytes_->get(), type_, stride, scale_}; }

  /// The stored numbers as they are now.
  std::vector<float> now() {
    const std::vector<unsigned char> bytes = bytes_->values();
    std::vector<float> result(stored_.size());
    DispatchStored(type_, [&](auto tag) {
      std::vector<decltype(tag)> values(result.size());
      std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size());
      for (size_t i = 0; i < values.size(); ++i) result[i] = static_cast<float>(values[i]);
    });
    return result;
  }

 private:
  std::vector<unsigned char> Encoded() const {
    std::vector<unsigned char> bytes(stored_.size() * SizeOf(type_));
    DispatchStored(type_, [&](auto tag) {
      using T = decltype(tag);
      std::vector<T> values;
      for (const float number : stored_) values.push_back(static_cast<T>(number));
      std::memcpy(bytes.data(), values.data(), bytes.size());
    });
    return bytes;
  }

  const ElementType type_;
  const float scale_;
  const std::vector<float> stored_;
  std::unique_ptr<Array<unsigned char>> bytes_;
};

/// f(x) with this slope for PRELU; F is what is computed in.
template <typename F>
F AppliedTo(const kernels::Activation& f, F x, F slope) {
  using kernels::Activation;
  const F a = static_cast<F>(f.a), b = static_cast<F>(f.b);
  switch (f.kind) {
    case Activation::RELU:
      return x < 0 ? a * x : x;
    case Activation::CLIP:
      return std::min(std::max(x, a), b);
    case Activation::PRELU:
      return x < 0 ? slope * x : x;
    case Activation::ELU:
      return x > 0 ? b * x : a * b * (std::exp(x) - 1);
    case Activation::SIGMOID:
      return 1 / (1 + std::exp(-x));
    case Activation::SWISH:
      return x / (1 + std::exp(-a * x));
    case Activation::TANH:
      return std::tanh(x);
    case Activation::HARD_SWISH:
      return x * std::min<F>(std::max<F>(a * x + b, 0), 1);
    case Activation::GELU:
      return x * std::erfc(-x / std::sqrt(F(2))) / 2;
    default:
      return x;
  }
}

/// Every activation of PostOps in turn.
constexpr int kActivations = 11;
inline kernels::Activation ActivationNumber(int i) {
  using kernels::Activation;
  const Activation activations[kActivations] = {{},
                                                {Activation::RELU, 0},
                                                {Activation::RELU, 0.25},
                                                {Activation::CLIP, -2, 6},
                                                {Activation::PRELU},
                                                {Activation::ELU, 0.5, 1},
                                                {Activation::SIGMOID},
                                                {Activation::SWISH, 1.5},
                                                {Activation::TANH},
                                                {Activation::HARD_SWISH, 0.25, 0.5},
                                                {Activation::GELU}};
  return activations[i % kActivations];
}

/// True where a function's values are exact for exact arguments.
inline bool IsExact(const kernels::Activation& f) {
  using kernels::Activation;
  return f.kind == Activation::NONE || f.kind == Activation::RELU || f.kind == Activation::CLIP ||
         f.kind == Activation::PRELU;
}

/// True if an array of this type and scale stores `got` for `wanted`: as it is rounded, or the next
/// number where `exact` is false. `error` is what `wanted` may be off by.
inline ::testing::AssertionResult IsStored(ElementType type, float scale, float wanted, float got,
                                           bool exact, double error = 0) {
  const float rounded = Stored(type, scale, wanted);
  const double unit = IsInteger(type)                ? 1
                      : type == ElementType::FLOAT   ? std::ldexp(1., -18)
                      : type == ElementType::FLOAT16 ? std::ldexp(1., -9)
                                                     : std::ldexp(1., -6);
  const double bound = exact             ? 0
                       : IsInteger(type) ? unit
                                         : unit * std::max(0.01f, std::abs(rounded));
  const double moved = IsInteger(type) ? error / scale : error;
  if (rounded == got || std::abs(rounded - got) <= bound + moved)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << Name(type) << " " << got << " is stored for " << wanted << ", not " << rounded;
}

}  // namespace caffe

#endif  // CAFFE_TEST_ENGINE_VALUES_HPP_
