#ifndef CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_STEPS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_STEPS_HPP_

#include <memory>

#include "byte_step.hpp"
#include "caffe/inference/backends/integer_node.hpp"
#include "channels_last.hpp"

// The steps of IntegerOperation: nodes with `integers` and the parameters of
// quantize/integer_operations.hpp.
namespace caffe::inference::cpu {

/// Entries of a function of one byte.
constexpr size_t kByteTable = 256;

/// A function of one number.
std::unique_ptr<Step> MakeTableStep(const Node& node);
std::unique_ptr<Step> MakeIntegerEltwise(const Node& node);
/// Axpy, Scale with two bottoms.
std::unique_ptr<Step> MakeIntegerBroadcast(const Node& node);
std::unique_ptr<Step> MakeIntegerPooling(const Graph& graph, const Node& node);
/// Softmax, LRN, Normalize, MVN; null for others.
std::unique_ptr<Step> MakeIntegerNormalization(const Node& node);
/// True if that takes a bottom of this shape in this layout, with channels in blocks or last.
bool NormalizesBlocks(const Node& node, const Shape& shape, Layout::Kind layout);
/// Interp and Resample.
std::unique_ptr<Step> MakeIntegerResizing(const Node& node);
/// Layers that move elements, in any order; Concat rescales.
std::unique_ptr<Step> MakeIntegerMoving(const Graph& graph, const Node& node);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_STEPS_HPP_
