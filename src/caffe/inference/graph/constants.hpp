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

/// Bytes of a node's parameters, those of its epilogue too.
size_t WeightBytes(const Node& node);
/// Bytes of all constants of the graphs. What several of them share counts once.
size_t WeightBytes(const std::vector<const Graph*>& graphs);

// Parameters of a node, or of a step of its epilogue: anything may be missing in a damaged plan.

/// Throws Error unless there is one of this number, type and count.
void RequireParameter(const std::vector<Constant>& parameters, size_t index, ElementType type,
                      size_t count);
inline void RequireParameter(const Node& node, size_t index, ElementType type, size_t count) {
  RequireParameter(node.parameters, index, type, count);
}
/// Its elements on the host. Throws Error likewise.
template <typename T>
const T* ParameterOf(const std::vector<Constant>& parameters, size_t index, ElementType type,
                     size_t count) {
  RequireParameter(parameters, index, type, count);
  return static_cast<const T*>(parameters[index].data.get());
}
template <typename T>
const T* ParameterOf(const Node& node, size_t index, ElementType type, size_t count) {
  return ParameterOf<T>(node.parameters, index, type, count);
}
/// INT32 (count, 2): multipliers, whose values may be negative. Throws Error for invalid ones.
std::vector<kernels::Multiplier> MultipliersOf(const std::vector<Constant>& parameters,
                                               size_t index, size_t count);
inline std::vector<kernels::Multiplier> MultipliersOf(const Node& node, size_t index,
                                                      size_t count) {
  return MultipliersOf(node.parameters, index, count);
}

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_CONSTANTS_HPP_
