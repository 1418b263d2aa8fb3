#ifndef CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_STEPS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_STEPS_HPP_

#include <memory>
#include <vector>

#include "../constants.hpp"
#include "byte_step.hpp"
#include "caffe/kernels/integer_elementwise.hpp"

// The steps of IntegerOperation: nodes with `integers` and the parameters of
// quantize/integer_operations.hpp.
namespace caffe {
namespace inference {
namespace cpu {

/// A parameter's elements; Error unless it has this type and count.
template <typename T>
const T* ParameterOf(const Node& node, size_t index, ElementType type, size_t count) {
  RequireParameter(node, index, type, count);
  return static_cast<const T*>(node.parameters[index].data.get());
}
/// `count` multipliers, whose values may be negative.
std::vector<kernels::Multiplier> MultipliersOf(const Node& node, size_t index, size_t count);

kernels::IntegerOperand OperandOf(const Operand& x, const void* data);
/// What output 0 may be.
kernels::IntegerResult ResultOf(const Node& node, const Operand& y, kernels::Multiplier by = {});

/// A function of one number.
std::unique_ptr<Step> MakeTableStep(const Node& node);
/// Eltwise, Axpy, Scale with two bottoms.
std::unique_ptr<Step> MakeIntegerElementwise(const Node& node);
std::unique_ptr<Step> MakeIntegerPooling(const Node& node);
/// Softmax, LRN, Normalize, MVN; null for others.
std::unique_ptr<Step> MakeIntegerNormalization(const Node& node);
/// True if that takes a bottom of this shape with channels in blocks.
bool NormalizesBlocks(const Node& node, const Shape& shape);
/// Interp and Resample.
std::unique_ptr<Step> MakeIntegerResizing(const Node& node);
/// Layers that move elements, in any order; Concat rescales.
std::unique_ptr<Step> MakeIntegerMoving(const Graph& graph, const Node& node);

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_STEPS_HPP_
