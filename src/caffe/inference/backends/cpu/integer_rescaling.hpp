#ifndef CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_RESCALING_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_RESCALING_HPP_

#include <optional>
#include <vector>

#include "caffe/inference/backends/step.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/byte_sum.hpp"

namespace caffe::inference::cpu {

/// Parameters of a packed node that computes with integers alone: `packed` weights, the bias with
/// what the input's zero point adds to sums taken off, and the multipliers of `node`, whose
/// parameters are those of quantize/integer_weights.hpp.
std::vector<Constant> PackedIntegers(const Graph& graph, const Node& node, const Constant& packed);
/// The same with the bias as it is to be.
std::vector<Constant> PackedIntegers(const Node& node, const Constant& packed,
                                     const Constant& bias);

/// The bias of a node that rescales its sums in floats, of weights as QuantizeWeights gives them,
/// with what zero points of its input and its residual (the step of the epilogue of this number;
/// -1: none) add taken off.
Constant BiasLessZeroPoints(const Graph& graph, const Node& node, const QuantizedWeights& weights,
                            int residual);

/// Sets how the node's sums become bytes, all but their bias and multipliers: of its output or,
/// with a residual, of what that is before.
void SetOutputs(const Node& node, const Operand& y, kernels::Rescaling* rescaling);

/// What a convolution with such parameters adds to its outputs, without the form of the sum;
/// nothing where its epilogue has no residual. Throws Error where its numbers are none.
std::optional<kernels::Residual> ResidualOf(const Node& node, const Operand& y,
                                            const Operand& residual);

/// What the step of a node of PackedIntegers does with its sums. Throws Error unless its parameters
/// are those of `outputs` outputs, with so many biases of each.
kernels::Rescaling RescalingOf(const Node& node, size_t outputs, const Operand& x, const Operand& y,
                               size_t biases = 1);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_INTEGER_RESCALING_HPP_
