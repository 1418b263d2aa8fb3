#ifndef CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_RESCALING_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_RESCALING_HPP_

#include <memory>
#include <optional>
#include <vector>

#include "caffe/inference/backends/step.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/byte_sum.hpp"

namespace caffe::inference::cpu {

/// True if the sums of an integer-only node, before it is packed, have multipliers of their own
/// where they are negative (PReLU, leaky ReLU).
bool HasSlopes(const Node& node);

/// Parameters of a packed integer-only node: `packed` weights, the bias less the contribution of
/// the input's zero point, and the multipliers of `node`, whose parameters are those of
/// quantize/integer_weights.hpp.
std::vector<Constant> PackedIntegers(const Graph& graph, const Node& node, const Constant& packed);
/// The same of a layer between values with these zero points. `has_slopes`: as if its sums had
/// multipliers of their own where they are negative, which change nothing if it has none.
std::vector<Constant> PackedIntegers(const Node& node, const Constant& packed, int input_zero_point,
                                     int output_zero_point, bool has_slopes);
/// Parameters like those, with this bias as it is.
std::vector<Constant> PackedIntegers(const Node& node, const Constant& packed,
                                     const Constant& bias);

/// The bias of a node that rescales its sums in floats, for weights of QuantizeWeights, less the
/// contributions of the zero points of its input `x` and its residual (this step of the epilogue;
/// -1: none).
Constant BiasLessZeroPoints(const Graph& graph, const Node& node, const AffineParameters& x,
                            const QuantizedWeights& weights, int residual);

/// Sets how the node's sums become bytes, without bias and multipliers: those of its output or,
/// with a residual, of the value before the sum.
void SetOutputs(const Node& node, const Operand& y, kernels::Rescaling* rescaling);

/// The residual that a convolution with such parameters adds to its outputs, without the form of
/// the sum; not set if its epilogue has none. Throws Error for invalid numbers.
std::optional<kernels::Residual> ResidualOf(const Node& node, const Operand& y,
                                            const Operand& residual);

/// The same with the form, for kernels.
class AddedBytes {
 public:
  /// For sums that are rescaled so, and these places; numbers are the same in all calls, so the
  /// form of the sum is found once. Throws Error for invalid ones.
  void Prepare(const Node& node, const Operand& y, const Operand& residual,
               const kernels::Rescaling& by);
  /// Null: the node's epilogue has none.
  const kernels::Residual* get() const { return residual_ ? &*residual_ : nullptr; }

 private:
  std::optional<kernels::Residual> residual_;
  std::unique_ptr<const kernels::FoundByteSum> sum_;
};

/// The rescaling of the sums of a node of PackedIntegers. Throws Error unless its parameters are
/// those of `outputs` outputs, with so many biases of each.
kernels::Rescaling RescalingOf(const Node& node, size_t outputs, const Operand& x, const Operand& y,
                               size_t biases = 1);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_RESCALING_HPP_
