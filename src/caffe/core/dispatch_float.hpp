#ifndef CAFFE_CORE_DISPATCH_FLOAT_HPP_
#define CAFFE_CORE_DISPATCH_FLOAT_HPP_

#include "caffe/element_type.hpp"
#include "caffe/error.hpp"

namespace caffe {

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

/// DispatchFloat for two.
template <typename F>
void DispatchFloats(ElementType first, ElementType second, F&& f) {
  DispatchFloat(first, [&](auto a) { DispatchFloat(second, [&](auto b) { f(a, b); }); });
}

}  // namespace caffe

#endif  // CAFFE_CORE_DISPATCH_FLOAT_HPP_
