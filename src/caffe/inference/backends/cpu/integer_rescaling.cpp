#include "integer_rescaling.hpp"

#include <cstdint>
#include <numeric>

#include "../../quantize/fused_sums.hpp"
#include "../constants.hpp"
#include "../convolution_node.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/integer_reference.hpp"
#include "integer_steps.hpp"

namespace caffe {
namespace inference {
namespace cpu {

std::vector<Constant> PackedIntegers(const Graph& graph, const Node& node, const Constant& packed) {
  const int zero_point = graph.values[node.inputs[0]].affine.zero_point;
  const Constant& weights = node.parameters[0];
  const Constant& bias = node.parameters[1];
  const int8_t* w = static_cast<const int8_t*>(weights.data.get());
  const int32_t* given = static_cast<const int32_t*>(bias.data.get());
  const size_t outputs = bias.count(), terms = weights.count() / outputs;
  const Constant folded = NewConstant(ElementType::INT32, outputs);
  for (size_t o = 0; o < outputs; ++o) {
    Elements<int32_t>(folded)[o] =
        kernels::FoldZeroPoint(terms, w + o * terms, 0, zero_point, given[o]);
  }
  return PackedIntegers(node, packed, folded);
}

std::vector<Constant> PackedIntegers(const Node& node, const Constant& packed,
                                     const Constant& bias) {
  std::vector<Constant> parameters = {packed, bias, node.parameters[2], node.parameters[3]};
  parameters.insert(parameters.end(), node.parameters.begin() + 5, node.parameters.end());
  return parameters;
}

Constant BiasLessZeroPoints(const Graph& graph, const Node& node, const QuantizedWeights& weights,
                            int residual) {
  const size_t outputs = weights.scales.size(), terms = weights.values.size() / outputs;
  std::vector<float> bias = BiasOf(node, outputs);
  const AffineParameters& x = graph.values[node.inputs[0]].affine;
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
          "what it adds does not lie as kernels take it");
  kernels::Residual result;
  result.data = residual.data;
  result.is_unsigned = residual.type == ElementType::UINT8;
  result.sum = {sum->before.zero_point, residual.zero_point, sum->multipliers[0],
                sum->multipliers[1], ResultOf(node, y, sum->multipliers[2])};
  return result;
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

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
