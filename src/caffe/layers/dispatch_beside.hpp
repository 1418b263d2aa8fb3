#ifndef CAFFE_LAYERS_DISPATCH_BESIDE_HPP_
#define CAFFE_LAYERS_DISPATCH_BESIDE_HPP_

#include <type_traits>

#include "caffe/element_type.hpp"

namespace caffe {

/// Dispatch for a layer whose own numbers are Dtype: FLOAT16 beside float, else Dtype.
template <typename Dtype, typename Function>
void DispatchBeside(ElementType type, Function&& f) {
  if constexpr (std::is_same<Dtype, float>::value) {
    if (type == ElementType::FLOAT16) return f(float16());
  }
  f(Dtype());
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DISPATCH_BESIDE_HPP_
