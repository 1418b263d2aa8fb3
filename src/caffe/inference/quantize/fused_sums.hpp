#ifndef CAFFE_INFERENCE_QUANTIZE_FUSED_SUMS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_FUSED_SUMS_HPP_

#include <optional>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// An integer Eltwise SUM as a step of the epilogue of an integer convolution. The node's
/// IntegerArithmetic has the bounds of the sum.
struct FusedSum {
  AffineParameters before;        ///< of the convolution's own output
  int32_t least = 0, most = 255;  ///< bounds of these
  /// Three: of these bytes, of the step's operand, of the sum.
  std::vector<kernels::Multiplier> multipliers;
};

/// The step's parameters: the multipliers (3, 2); zero point, least and most; the scale.
std::vector<Constant> ParametersOf(const FusedSum& sum);

/// The sum in the node's epilogue; not set if no step has an operand. Throws Error if the
/// parameters of such a step are not those above, as in a damaged plan.
std::optional<FusedSum> FusedSumOf(const Node& node);

/// The graph of integers for an engine: a sum of two values becomes the last step of the
/// convolution that computes one of them and runs after the producer of the other, if no other node
/// reads its output. The bits are the same: values are rounded as before.
Graph FuseIntegerResiduals(Graph graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_FUSED_SUMS_HPP_
