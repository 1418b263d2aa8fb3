#ifndef CAFFE_INFERENCE_GRAPH_CONSTANTS_HPP_
#define CAFFE_INFERENCE_GRAPH_CONSTANTS_HPP_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// Elements of a constant of any type, allocated aligned and zero.
Constant NewConstant(ElementType type, size_t count);
/// To fill a constant that was just made.
template <typename T>
T* Elements(const Constant& constant) {
  return static_cast<T*>(const_cast<void*>(constant.data.get()));
}

/// With these elements, as many as `shape` says; T is the C++ type of `type`.
template <typename T>
Constant ConstantOf(ElementType type, const Shape& shape, const std::vector<T>& values) {
  Constant constant = NewConstant(type, values.size());
  std::copy(values.begin(), values.end(), Elements<T>(constant));
  constant.shape = shape;
  return constant;
}

/// The constant's values, rounded to the numbers that FLOAT, FLOAT16 or BFLOAT16 has.
std::vector<float> RoundedTo(ElementType type, const Constant& constant);

/// Throws Error unless the node has a parameter of this number, type and count: anything may be
/// missing in a damaged plan.
void RequireParameter(const Node& node, size_t index, ElementType type, size_t count);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_CONSTANTS_HPP_
