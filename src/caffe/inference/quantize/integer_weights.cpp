#include "integer_weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/error.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/quantize/blob_intervals.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"

namespace caffe::inference {
namespace {

/// A bias above this many steps takes a larger scale of the weights: with the products it has to
/// stay below 2^31.
constexpr double kMaxBias = 1 << 30;

/// The node's weights in floats, of an InnerProduct as (outputs, inputs), and its layer to match.
struct FloatWeights {
  LayerParameter layer;
  Shape shape;
  std::vector<float> values;
  bool reduce_range = false;
};

FloatWeights FloatWeightsOf(const Graph& graph, const Node& node) {
  FloatWeights weights = {node.layer, node.parameters[0].shape, {}, node.reduce_range};
  if (node.type() == "InnerProduct") {
    const InnerProductExtents extents = ExtentsOf(graph, node);
    weights.layer.mutable_inner_product_param()->set_transpose(false);
    weights.shape = {extents.outputs, extents.inputs};
    weights.values = InnerProductWeightsOf(node, extents);
  } else {
    weights.values = node.parameters[0].ToVector();
  }
  return weights;
}

/// Calls f(output, weight's number) for each of them.
template <typename F>
void ForEachWeight(const WeightChannels& channels, F f) {
  size_t i = 0;
  for (size_t g = 0; g < channels.groups; ++g) {
    for (size_t o = 0; o < channels.outer; ++o) {
      for (size_t c = 0; c < channels.channels; ++c) {
        for (size_t k = 0; k < channels.inner; ++k) f(g * channels.channels + c, i++);
      }
    }
  }
}

Constant Bytes(const Shape& shape, ElementType type, const std::vector<int>& values) {
  return ConstantOf(type, shape, std::vector<uint8_t>(values.begin(), values.end()));
}

Constant Int32s(const std::vector<int32_t>& values) {
  return ConstantOf(ElementType::INT32, {static_cast<int>(values.size())}, values);
}

float InSteps(float weight, float scale, int most) {
  return std::clamp(std::nearbyint(weight / scale), float(-most), float(most));
}

/// A scale for each output, zero point 0.
IntegerWeights RoundByChannel(const FloatWeights& weights, const WeightRounding& rounding) {
  IntegerWeights result;
  std::vector<int> values(weights.values.size());
  if (!rounding.to_nearest && rounding.bits == 8) {
    const QuantizedWeights quantized =
        QuantizeWeights(weights.layer, weights.shape, weights.values.data(), weights.reduce_range);
    std::copy(quantized.values.begin(), quantized.values.end(), values.begin());
    result.scales = quantized.scales;
  } else {
    const int most = LargestOf(/*is_unsigned=*/false, rounding.bits);
    result.scales = WeightScales(weights.layer, weights.shape, weights.values.data());
    for (float& scale : result.scales) scale = scale * 127 / static_cast<float>(most);
    ForEachWeight(WeightChannelsOf(weights.layer, weights.shape), [&](size_t output, size_t i) {
      values[i] = static_cast<int>(InSteps(weights.values[i], result.scales[output], most));
    });
  }
  result.values = Bytes(weights.shape, ElementType::INT8, values);
  return result;
}

/// One scale and zero point for all of them, of 1 to 2^bits - 1 (the paper's appendix B: no weight
/// takes the least integer).
IntegerWeights ByTensor(const FloatWeights& weights, const WeightRounding& rounding,
                        size_t outputs) {
  float least = 0, most = 0;
  for (const float weight : weights.values) {
    Require(std::isfinite(weight), "layer '", weights.layer.name(), "' (", weights.layer.type(),
            "): there are NaN or infinities among the weights");
    least = std::min(least, weight);
    most = std::max(most, weight);
  }
  const int steps = (1 << rounding.bits) - 2;
  float scale = (most - least) / static_cast<float>(steps);
  if (!(scale >= std::numeric_limits<float>::min())) scale = 1;
  IntegerWeights result;
  result.scales.assign(outputs, scale);
  result.zero_point = std::clamp(1 + static_cast<int>(std::lround(-least / scale)), 1, steps + 1);
  std::vector<int> values(weights.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const int steps_of_weight = static_cast<int>(std::nearbyint(weights.values[i] / scale));
    values[i] = std::clamp(steps_of_weight + result.zero_point, 1, steps + 1);
  }
  result.values = Bytes(weights.shape, ElementType::UINT8, values);
  return result;
}

/// One slope of negative sums for each output; empty: there is no such epilogue.
std::vector<float> SlopesOf(const Node& node, size_t outputs) {
  if (node.epilogue.empty()) return {};
  const Epilogue& step = node.epilogue[0];
  if (step.layer.type() == "ReLU" && step.layer.relu_param().negative_slope() != 0) {
    return std::vector<float>(outputs, step.layer.relu_param().negative_slope());
  }
  if (step.layer.type() != "PReLU") return {};
  const std::vector<float> given = step.parameters[0].ToVector();
  return given.size() == outputs ? given : std::vector<float>(outputs, given[0]);
}

/// Changes the scale of the weights of outputs whose bias is badly represented in steps of their
/// sums: a larger scale where it would take more than 31 bits, which makes weights 0 or nearly so;
/// a smaller one where a step is more than half of the output's, which makes large weights
/// saturate. Such outputs are nearly constant: their BatchNorm has a tiny variance.
void FitScales(const std::vector<float>& bias, double input_scale, double output_scale,
               const FloatWeights& floats, int bits, IntegerWeights* weights) {
  const WeightChannels channels = WeightChannelsOf(floats.layer, floats.shape);
  const double most_scale = output_scale / (2 * input_scale);
  std::vector<bool> is_zero(bias.size(), true), changed(bias.size(), false);
  ForEachWeight(channels, [&](size_t output, size_t i) {
    is_zero[output] = is_zero[output] && floats.values[i] == 0;
  });
  for (size_t o = 0; o < bias.size(); ++o) {
    const double magnitude = std::fabs(bias[o]) / input_scale;
    float& scale = weights->scales[o];
    const float before = scale;
    if (is_zero[o] && magnitude > 0) {
      scale = static_cast<float>(magnitude / (1 << 24));
    } else if (magnitude / scale > kMaxBias) {
      scale = static_cast<float>(magnitude / (kMaxBias / 2));
    } else if (magnitude > 0 && scale > most_scale) {
      scale = static_cast<float>(most_scale);
    }
    changed[o] = scale != before;
  }
  int8_t* values = Elements<int8_t>(weights->values);
  ForEachWeight(channels, [&](size_t output, size_t i) {
    if (!changed[output]) return;
    values[i] = static_cast<int8_t>(
        InSteps(floats.values[i], weights->scales[output], LargestOf(/*is_unsigned=*/false, bits)));
  });
  if (!floats.reduce_range) return;
  for (size_t o = 0; o < changed.size(); ++o) {
    if (!changed[o]) continue;
    RoundWithinRange(floats.layer, floats.shape, floats.values.data() + o * channels.inner,
                     weights->scales[o], values + o * channels.inner);
  }
}

int WeightOf(const IntegerWeights& weights, size_t i) {
  return weights.values.type == ElementType::UINT8
             ? static_cast<const uint8_t*>(weights.values.data.get())[i]
             : static_cast<const int8_t*>(weights.values.data.get())[i];
}

void AppendMultipliers(const Node& node, const std::vector<double>& real,
                       std::vector<Constant>* parameters) {
  std::vector<int32_t> values, shifts;
  for (const double one : real) {
    try {
      const kernels::Multiplier multiplier = kernels::MultiplierOf(std::fabs(one));
      values.push_back(one < 0 ? -multiplier.value : multiplier.value);
      shifts.push_back(multiplier.shift);
    } catch (Error& error) {
      error.AddContext(
          "input scale times weight scale over output scale: a range of the blobs that it reads "
          "and "
          "writes is far too small or too large; calibrate again");
      error.AddLayer(node.name(), node.type());
      throw;
    }
  }
  parameters->push_back(Int32s(values));
  parameters->push_back(Int32s(shifts));
}

}  // namespace

std::string WhyNotIntegerWeights(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1)
    return "it does not have one bottom and one top";
  if (node.parameters.empty()) return "its weights are not known";
  const Value& x = graph.values[node.inputs[0]];
  if (x.is_constant()) return "its bottom is a constant";
  if (node.type() != "InnerProduct") {
    const ConvolutionParameter& param = node.layer.convolution_param();
    const int axes = static_cast<int>(x.shape.size());
    if (axes != 4 && !(axes == 3 && IsConvolution(node)))
      return "it does not have two spatial axes";
    if (!IsChannelAxis(param.axis(), x.shape.size())) return "its channels are not axis 1";
  }
  if (StepWithOperand(node)) return "a sum is part of it: leave the pass 'residuals' out";
  // Sums of bytes less a zero point by weights less theirs.
  const FloatWeights weights = FloatWeightsOf(graph, node);
  const WeightChannels channels = WeightChannelsOf(weights.layer, weights.shape);
  const size_t terms = channels.outer * channels.inner;
  if (static_cast<double>(terms) * 255 * 127 > std::numeric_limits<int32_t>::max()) {
    return Join("sums of its ", terms, " products may take more than 31 bits");
  }
  return "";
}

IntegerWeights IntegerWeightsOf(const Graph& graph, const Node& node,
                                const WeightRounding& rounding) {
  const FloatWeights weights = FloatWeightsOf(graph, node);
  const size_t outputs = WeightChannelsOf(weights.layer, weights.shape).outputs();
  return rounding.scheme == QuantizationScheme::PAPER ? ByTensor(weights, rounding, outputs)
                                                      : RoundByChannel(weights, rounding);
}

std::vector<Constant> WeightedIntegerParameters(const Graph& graph, const Node& node,
                                                const WeightRounding& rounding,
                                                int* weight_zero_point) {
  IntegerWeights weights = IntegerWeightsOf(graph, node, rounding);
  *weight_zero_point = weights.zero_point;
  const size_t outputs = weights.scales.size();
  const AffineParameters& x = graph.values[node.inputs[0]].affine;
  const AffineParameters& y = graph.values[node.outputs[0]].affine;
  const std::vector<float> bias = BiasOf(node, outputs);
  for (const float b : bias) {
    Require(std::isfinite(b), "layer '", node.name(), "' (", node.type(),
            "): its bias is NaN or infinite");
  }
  const FloatWeights floats = FloatWeightsOf(graph, node);
  if (weights.zero_point == 0) FitScales(bias, x.scale, y.scale, floats, rounding.bits, &weights);
  std::vector<int32_t> steps(outputs);
  std::vector<double> real(outputs);
  for (size_t o = 0; o < outputs; ++o) {
    const double step = double{x.scale} * weights.scales[o];
    const double wanted = std::round(bias[o] / step);
    Require(std::fabs(wanted) <= kMaxBias, "layer '", node.name(), "' (", node.type(), "): bias ",
            bias[o], " of output ", o, " is ", wanted,
            " steps of its sums, which 31 bits do not hold: compute the layer in floats, by "
            "-layer_precision ",
            node.name(), "=fp32");
    steps[o] = static_cast<int32_t>(wanted);
    real[o] = step / y.scale;
  }
  std::vector<int64_t> largest(outputs, 0);
  ForEachWeight(WeightChannelsOf(floats.layer, floats.shape), [&](size_t output, size_t i) {
    largest[output] += std::abs(WeightOf(weights, i) - weights.zero_point);
  });
  for (size_t o = 0; o < outputs; ++o) {
    const int64_t most = largest[o] * 255 + std::abs(int64_t{steps[o]});
    Require(most <= std::numeric_limits<int32_t>::max(), "layer '", node.name(), "' (", node.type(),
            "): sums of output ", o, " over ", floats.values.size() / outputs,
            " products may reach ", most,
            ", more than 31 bits hold: compute the layer in floats, "
            "by -layer_precision ",
            node.name(), "=fp32");
  }
  std::vector<Constant> parameters = {weights.values, Int32s(steps)};
  AppendMultipliers(node, real, &parameters);
  parameters.push_back(Constant::Of({static_cast<int>(outputs)}, weights.scales));
  const std::vector<float> slopes = SlopesOf(node, outputs);
  if (!slopes.empty()) {
    for (size_t o = 0; o < outputs; ++o) real[o] *= slopes[o];
    AppendMultipliers(node, real, &parameters);
  }
  return parameters;
}

}  // namespace caffe::inference
