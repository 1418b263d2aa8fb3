#include "integer_rescaling.hpp"

#include <cstdint>
#include <numeric>

#include "caffe/error.hpp"
#include "caffe/inference/backends/integer_node.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/quantize/fused_sums.hpp"
#include "caffe/kernels/integer_reference.hpp"
#include "constant_outputs.hpp"

namespace caffe::inference::cpu {

namespace {

/// The bounds of the outputs' values, less their zero point. Before a residual is added all bytes
/// are within the bounds.
ValueBounds BoundsBehindSums(const Node& node, int32_t middle) {
  return StepWithOperand(node)
             ? ValueBounds{-511, 511}
             : ValueBounds{node.integers->least - middle, node.integers->most - middle};
}

}  // namespace

bool HasSlopes(const Node& node) { return node.parameters.size() > 5; }

std::vector<Constant> PackedIntegers(const Graph& graph, const Node& node, const Constant& packed) {
  const auto zero_point = [&](int value) { return graph.values[value].affine.zero_point; };
  return PackedIntegers(node, packed, zero_point(node.inputs[0]), zero_point(node.outputs[0]),
                        HasSlopes(node));
}

std::vector<Constant> PackedIntegers(const Node& node, const Constant& packed, int input_zero_point,
                                     int output_zero_point, bool has_slopes) {
  const Constant& weights = node.parameters[0];
  const int8_t* w = static_cast<const int8_t*>(weights.data.get());
  const size_t outputs = node.parameters[1].count(), terms = weights.count() / outputs;
  const auto given = [&](size_t parameter, size_t o) {
    return static_cast<const int32_t*>(node.parameters[parameter].data.get())[o];
  };
  const ValueBounds bounds = BoundsBehindSums(node, output_zero_point);
  std::vector<Constant> parameters = {packed};
  for (size_t i = 1; i < (has_slopes ? 6 : 4); ++i) {
    parameters.push_back(NewConstant(ElementType::INT32, outputs));
  }
  for (size_t o = 0; o < outputs; ++o) {
    const int8_t* of_output = w + o * terms;
    OutputRow row = {kernels::FoldZeroPoint(terms, of_output, 0, input_zero_point, given(1, o)),
                     {given(2, o), given(3, o)},
                     {}};
    row.negative = HasSlopes(node) ? kernels::Multiplier{given(5, o), given(6, o)} : row.positive;
    row = SimplifiedIfConstant(row, SumsOf(terms, of_output), node.integers->rounding, bounds);
    const int32_t numbers[] = {row.bias, row.positive.value, row.positive.shift, row.negative.value,
                               row.negative.shift};
    for (size_t i = 1; i < parameters.size(); ++i) {
      Elements<int32_t>(parameters[i])[o] = numbers[i - 1];
    }
  }
  return parameters;
}

std::vector<Constant> PackedIntegers(const Node& node, const Constant& packed,
                                     const Constant& bias) {
  std::vector<Constant> parameters = {packed, bias, node.parameters[2], node.parameters[3]};
  parameters.insert(parameters.end(), node.parameters.begin() + 5, node.parameters.end());
  return parameters;
}

Constant BiasLessZeroPoints(const Graph& graph, const Node& node, const AffineParameters& x,
                            const QuantizedWeights& weights, int residual) {
  const size_t outputs = weights.scales.size(), terms = weights.values.size() / outputs;
  std::vector<float> bias = BiasOf(node, outputs);
  if (x.zero_point != 0) {
    for (size_t o = 0; o < outputs; ++o) {
      const int8_t* w = weights.values.data() + o * terms;
      const int64_t sum = std::accumulate(w, w + terms, int64_t{0});
      bias[o] -= static_cast<float>(double{x.scale} * weights.scales[o] * x.zero_point *
                                    static_cast<double>(sum));
    }
  }
  if (residual >= 0) {
    const AffineParameters& added = graph.values[node.epilogue[residual].operand].affine;
    for (float& b : bias) b -= added.scale * static_cast<float>(added.zero_point);
  }
  return Constant::Of({static_cast<int>(outputs)}, std::move(bias));
}

std::optional<kernels::Residual> ResidualOf(const Node& node, const Operand& y,
                                            const Operand& residual) {
  const std::optional<FusedSum> sum = FusedSumOf(node);
  if (!sum) return {};
  Require(IsInteger(residual) && residual.shape == y.shape,
          "what it adds is in a layout that the kernel does not take");
  kernels::Residual result;
  result.data = residual.data;
  result.is_unsigned = residual.type == ElementType::UINT8;
  result.sum = {sum->before.zero_point, residual.zero_point, sum->multipliers[0],
                sum->multipliers[1], ResultOf(node, y, sum->multipliers[2])};
  return result;
}

void AddedBytes::Prepare(const Node& node, const Operand& y, const Operand& residual,
                         const kernels::Rescaling& by) {
  residual_ = ResidualOf(node, y, residual);
  if (!residual_) return;
  if (!sum_) {
    sum_ = std::make_unique<kernels::FoundByteSum>(
        residual_->sum, by.least, by.most, residual_->is_unsigned, y.type == ElementType::UINT8);
  }
  residual_->form = &sum_->form();
}

void SetOutputs(const Node& node, const Operand& y, kernels::Rescaling* rescaling) {
  const std::optional<FusedSum> sum = FusedSumOf(node);
  rescaling->rounding = node.integers->rounding;
  rescaling->zero_point = sum ? sum->before.zero_point : y.zero_point;
  rescaling->least = sum ? sum->least : node.integers->least;
  rescaling->most = sum ? sum->most : node.integers->most;
  const bool is_unsigned = sum ? sum->least >= 0 : y.type == ElementType::UINT8;
  Require(
      rescaling->least >= (is_unsigned ? 0 : -128) && rescaling->most <= (is_unsigned ? 255 : 127),
      "its bounds are not those of bytes");
}

kernels::Rescaling RescalingOf(const Node& node, size_t outputs, const Operand& x, const Operand& y,
                               size_t biases) {
  Require(node.integers.has_value(), "it does not compute with integers alone");
  const bool has_slopes = node.parameters.size() > 4;
  for (size_t i = 1; i < (has_slopes ? 6 : 4); ++i) {
    RequireParameter(node, i, ElementType::INT32, i == 1 ? outputs * biases : outputs);
  }
  const auto numbers = [&](size_t i) {
    return static_cast<const int32_t*>(node.parameters[i].data.get());
  };
  kernels::Rescaling rescaling;
  rescaling.bias = numbers(1);
  rescaling.multipliers = numbers(2);
  rescaling.shifts = numbers(3);
  if (has_slopes) {
    rescaling.negative_multipliers = numbers(4);
    rescaling.negative_shifts = numbers(5);
  }
  for (size_t i = 3; i < (has_slopes ? 6 : 4); i += 2) {
    for (size_t o = 0; o < outputs; ++o) {
      Require(numbers(i)[o] >= -31 && numbers(i)[o] <= 30 && numbers(i - 1)[o] > INT32_MIN,
              "a multiplier is out of range");
    }
  }
  rescaling.input_zero_point = x.zero_point;
  SetOutputs(node, y, &rescaling);
  return rescaling;
}

}  // namespace caffe::inference::cpu
