#ifndef CAFFE_INFERENCE_QUANTIZE_INTEGER_WEIGHTS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_INTEGER_WEIGHTS_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/inference/quantization.hpp"

namespace caffe::inference {

/// How a layer's weights become integers.
struct WeightRounding {
  QuantizationScheme scheme = QuantizationScheme::SYMMETRIC;
  int bits = 8;  ///< 2 to 8
  /// Rounds each weight to the nearest integer, as training simulated it. Else some weights of
  /// depthwise convolutions are rounded to the other neighbour (QuantizeWeights).
  bool to_nearest = false;
};

/// Weights as integers: w = scales[output] (values - zero_point).
struct IntegerWeights {
  Constant values;  ///< INT8, or UINT8 where zero_point is not 0; InnerProduct: (outputs, inputs)
  std::vector<float> scales;  ///< one for each output channel
  int zero_point = 0;
};

/// Why a node with weights has no integer-only form, for messages; "" if it has one.
std::string WhyNotIntegerWeights(const Graph& graph, const Node& node);

/// The integer weights of a node that multiplies by weights. Throws Error, naming the layer, if
/// weights are NaN or infinite.
IntegerWeights IntegerWeightsOf(const Graph& graph, const Node& node,
                                const WeightRounding& rounding);

/// Parameters of the node in an integer-only engine: weights, bias (INT32, in steps of the input's
/// scale times the weights'), multipliers and shifts (INT32), the weights' scales (FLOAT), one for
/// each output; and, where PReLU or a leaky ReLU is the node's epilogue, multipliers and shifts of
/// negative sums. The values that the node reads and writes have their quantization. Throws Error,
/// naming the layer, where 31 bits may not suffice for a sum, or a multiplier is out of range.
std::vector<Constant> WeightedIntegerParameters(const Graph& graph, const Node& node,
                                                const WeightRounding& rounding,
                                                int* weight_zero_point);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_INTEGER_WEIGHTS_HPP_
