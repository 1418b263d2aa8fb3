#ifndef CAFFE_LAYERS_DISPATCH_HALF_OR_HPP_
#define CAFFE_LAYERS_DISPATCH_HALF_OR_HPP_

#include <type_traits>

#include "caffe/element_type.hpp"

namespace caffe {

/// Dispatch for a layer whose own numbers are Dtype: FLOAT16 or float, else Dtype.
template <typename Dtype, typename Function>
void DispatchHalfOr(ElementType type, Function&& f) {
  if constexpr (std::is_same<Dtype, float>::value) {
    if (type == ElementType::FLOAT16) return f(float16());
  }
  f(Dtype());
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DISPATCH_HALF_OR_HPP_
