#ifndef CAFFE_INFERENCE_BACKENDS_ELEMENT_TYPES_HPP_
#define CAFFE_INFERENCE_BACKENDS_ELEMENT_TYPES_HPP_

#include "caffe/element_type.hpp"
#include "caffe/error.hpp"

namespace caffe::inference {

/// Calls f(T()) with the C++ type of FLOAT, FLOAT16 or BFLOAT16.
template <typename F>
void DispatchFloat(ElementType type, F&& f) {
  switch (type) {
    case ElementType::FLOAT:
      return f(float());
    case ElementType::FLOAT16:
      return f(float16());
    case ElementType::BFLOAT16:
      return f(bfloat16());
    default:
      Fail("a floating-point kernel does not take ", Name(type));
  }
}

/// Calls f(T()) for the C++ type of INT8 or UINT8.
template <typename F>
void DispatchInteger(ElementType type, F&& f) {
  if (type == ElementType::UINT8) return f(uint8_t());
  Require(type == ElementType::INT8, "an 8-bit kernel does not take ", Name(type));
  f(int8_t());
}

/// Calls f(T()) for the C++ type of FLOAT, INT8 or UINT8.
template <typename F>
void DispatchOutputType(ElementType type, F&& f) {
  if (type == ElementType::FLOAT) return f(float());
  DispatchInteger(type, f);
}

/// DispatchFloat for two.
template <typename F>
void DispatchFloats(ElementType first, ElementType second, F&& f) {
  DispatchFloat(first, [&](auto a) { DispatchFloat(second, [&](auto b) { f(a, b); }); });
}

/// The types of floating-point numbers in which blobs may lie, the widest first.
constexpr ElementType kFloatTypes[] = {ElementType::FLOAT, ElementType::FLOAT16,
                                       ElementType::BFLOAT16};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_ELEMENT_TYPES_HPP_
