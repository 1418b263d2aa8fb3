#ifndef CAFFE_INFERENCE_BACKENDS_ELEMENT_TYPES_HPP_
#define CAFFE_INFERENCE_BACKENDS_ELEMENT_TYPES_HPP_

#include <algorithm>
#include <iterator>

#include "caffe/core/dispatch_float.hpp"
#include "caffe/element_type.hpp"
#include "caffe/error.hpp"

namespace caffe::inference {

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

inline bool IsByteType(ElementType type) {
  return type == ElementType::INT8 || type == ElementType::UINT8;
}

/// The types of floating-point numbers in which blobs may lie, the widest first.
constexpr ElementType kFloatTypes[] = {ElementType::FLOAT, ElementType::FLOAT16,
                                       ElementType::BFLOAT16};
inline bool IsFloatType(ElementType type) {
  return std::find(std::begin(kFloatTypes), std::end(kFloatTypes), type) != std::end(kFloatTypes);
}

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_ELEMENT_TYPES_HPP_
