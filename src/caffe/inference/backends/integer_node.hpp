#ifndef CAFFE_INFERENCE_BACKENDS_INTEGER_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_INTEGER_NODE_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "caffe/inference/graph/constants.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/integer_elementwise.hpp"
#include "caffe/kernels/integer_normalization.hpp"
#include "implementation.hpp"

// Integer-only nodes (Node::integers), as the steps of all targets read them.
namespace caffe::inference {

/// True if the value is made of 8-bit integers.
inline bool IsInteger(const Operand& operand) { return SizeOf(operand.type) == 1; }

kernels::IntegerOperand OperandOf(const Operand& x, const void* data);
/// The bounds of output 0.
kernels::IntegerResult ResultOf(const Node& node, const Operand& y, kernels::Multiplier by = {});

/// A candidate with all values in 8 bits for each of these layouts.
std::vector<Candidate> InBytes(const Implementation& implementation, const Node& node,
                               const std::vector<Layout::Kind>& layouts);

// --- Without weights: parameters are those of quantize/integer_operations.hpp
// ---------------------

enum class IntegerKind {
  TABLE,      ///< a function of one number
  ELTWISE,    ///< Eltwise
  BROADCAST,  ///< Axpy, Scale with two bottoms
  POOLING,
  DIVISION,  ///< Softmax, LRN, Normalize, MVN
  RESIZING,  ///< Interp, Resample
  MOVING     ///< elements in any order; Concat rescales
};
IntegerKind KindOf(const Node& node);

/// True if it is a node of integers without weights; what it is was found out when it became one
/// (WhyNotIntegers).
bool ComputesIntegers(const Node& node);
/// Why a family for such nodes has no candidate for others.
constexpr char kNoIntegerOperation[] = "is for layers without weights, in integers";
/// True if blobs may have 8 bits and the quantization of its inputs and outputs is known. Else the
/// reason is noted.
bool HasIntegerRanges(const LoweringContext& context, const Node& node);
/// The candidates, in Caffe's order and in `layout`, with any type for an input of which only the
/// shape is read.
std::vector<Candidate> WithShapeInputs(const LoweringContext& context, const Node& node,
                                       Layout::Kind layout, std::vector<Candidate> candidates);

kernels::SoftmaxExtents SoftmaxExtentsOf(const Node& node, const Shape& x);
kernels::LrnShape LrnShapeOf(const Node& node, const Shape& x);
kernels::NormExtents NormExtentsOf(const Node& node, const Shape& x);
/// Of a Scale with two bottoms or an Axpy: how the factors repeat along x.
size_t BroadcastOuterOf(const Node& node, const Shape& x);
/// The groups that an MVN normalizes: `length` neighbours each.
struct RowExtents {
  size_t rows = 0, length = 0;
};
RowExtents StandardizedRowsOf(const Node& node, const Shape& x);

// --- With weights: parameters are those of quantize/integer_weights.hpp
// ---------------------------

/// A convolution, a Deconvolution (whose shape is that of its own input and output) or, without
/// spatial axes, an inner product of rows; nothing for other nodes.
std::optional<kernels::ConvolutionShape> WeightedShapeOf(const Node& node, const Shape& x,
                                                         const Shape& y);
/// Weights as (outputs, inputs of an output), which those of a Deconvolution are not.
Constant WeightsByOutput(const Node& node, const kernels::ConvolutionShape& shape);
/// The biases for such weights, less the contribution of the input's zero point.
std::vector<int32_t> FoldedBiases(const Node& node, const Constant& weights, size_t outputs,
                                  int input_zero_point);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_INTEGER_NODE_HPP_
