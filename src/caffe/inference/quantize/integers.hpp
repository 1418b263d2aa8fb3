#ifndef CAFFE_INFERENCE_QUANTIZE_INTEGERS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_INTEGERS_HPP_

#include <functional>
#include <string>
#include <vector>

#include "caffe/inference/backends/implementation.hpp"
#include "caffe/inference/calibration_table.hpp"
#include "integer_weights.hpp"

namespace caffe::inference {

/// The pass that an integer-only engine leaves out: sums are operations of their own, rounded where
/// LiteRT rounds, until FuseIntegerResiduals (fused_sums.hpp).
constexpr char kPassWithoutIntegers[] = "residuals";

/// Epilogues keep what integers can compute with a node's sums: one ReLU, ReLU6, Clip or PReLU.
/// What is behind it becomes nodes again.
Graph SplitForIntegers(Graph graph);

struct IntegerOptions {
  bool refuses = false;  ///< a node that integers cannot compute is an Error
  kernels::Rounding rounding = kernels::Rounding::DOUBLE;
  WeightRounding weights;
  int activation_bits = 8;  ///< 2 to 8: blobs take so many of their byte's
  /// Of each node: 8-bit integers were asked for.
  std::vector<bool> wanted;
  /// Of each value: the means of its channels, with which what is lost on the average by rounding
  /// weights goes into the bias; nothing where they are unknown.
  std::vector<std::vector<float>> means;
  /// Called with a line for each node that stays float, and why.
  std::function<void(const std::string& line)> remark;
};

/// The graph with all that integers alone can compute in integers: such nodes have `integers` and
/// their parameters as integers, and the values that they read and write a type and quantization.
/// The scales of values come from the table; what only moves elements has one with what it moves.
/// Throws Error, naming layer and reason: where options.refuses for a node that integers cannot
/// compute, and for ranges that are none.
Graph ToIntegers(Graph graph, const CalibrationTable& table, const IntegerOptions& options);

/// How the values of such a graph become 8-bit integers.
std::vector<Range> RangesOf(const Graph& integers);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_INTEGERS_HPP_
