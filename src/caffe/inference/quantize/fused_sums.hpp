#ifndef CAFFE_INFERENCE_QUANTIZE_FUSED_SUMS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_FUSED_SUMS_HPP_

#include <array>
#include <optional>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// An Eltwise SUM of integers as a step of the epilogue of a convolution of integers. The node's
/// IntegerArithmetic has the bounds of the sum.
struct FusedSum {
  AffineParameters before;        ///< of the bytes that the convolution makes
  int32_t least = 0, most = 255;  ///< which these may be
  /// Of these bytes, of the step's operand, of the sum.
  std::array<kernels::Multiplier, 3> multipliers;
};

/// The step's parameters: the multipliers (3, 2); zero point, least and most; the scale.
std::vector<Constant> ParametersOf(const FusedSum& sum);

/// That of the node's epilogue, nothing where no step has an operand. Throws Error where the
/// parameters of such a step are not those above: of a plan that is damaged they may be anything.
std::optional<FusedSum> FusedSumOf(const Node& node);

/// The graph of integers for an engine: a sum of two values becomes the last step of the
/// convolution that makes one of them and runs after the other's maker, if nothing else reads what
/// it makes. The bits stay: that is rounded in registers as it was in memory.
Graph FuseIntegerResiduals(Graph graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_FUSED_SUMS_HPP_
