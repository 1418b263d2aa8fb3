#ifndef CAFFE_INFERENCE_BACKENDS_INTEGER_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_INTEGER_NODE_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
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

/// What makes a target's steps of such nodes.
struct IntegerSteps {
  std::unique_ptr<Step> (*table)(const Node& node);
  std::unique_ptr<Step> (*eltwise)(const Node& node);
  std::unique_ptr<Step> (*broadcast)(const Node& node);
  std::unique_ptr<Step> (*pooling)(const Graph& graph, const Node& node);
  std::unique_ptr<Step> (*division)(const Node& node);
  std::unique_ptr<Step> (*resizing)(const Node& node);
  std::unique_ptr<Step> (*moving)(const Graph& graph, const Node& node);
};

/// All of them, in Caffe's order and in a target's own layouts.
class IntegerOperationImplBase : public Implementation {
 public:
  IntegerOperationImplBase(std::vector<Layout::Kind> layouts, const IntegerSteps& steps)
      : layouts_(std::move(layouts)), steps_(steps) {}
  const char* name() const override { return "integers"; }
  bool Takes(const Node& node) const override { return node.integers.has_value(); }
  bool TakesZeroPoints(const Node&) const override { return true; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override;
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override;

 private:
  virtual bool TakesLayout(const Graph& graph, const Node& node, Layout::Kind layout) const = 0;

  const std::vector<Layout::Kind> layouts_;
  const IntegerSteps steps_;
};

kernels::SoftmaxExtents SoftmaxExtentsOf(const Node& node, const Shape& x);
kernels::LrnShape LrnShapeOf(const Node& node, const Shape& x);
kernels::NormExtents NormExtentsOf(const Node& node, const Shape& x);
/// How the factors of a Scale with two bottoms or an Axpy repeat along x.
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
