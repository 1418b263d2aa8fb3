#ifndef CAFFE_INFERENCE_QUANTIZE_INTEGERS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_INTEGERS_HPP_

#include <functional>
#include <string>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/graph.hpp"
#include "integer_weights.hpp"
#include "range.hpp"

namespace caffe::inference {

/// The pass that an integer-only engine leaves out: sums are operations of their own, rounded where
/// LiteRT rounds, until FuseIntegerResiduals (fused_sums.hpp).
constexpr char kPassWithoutIntegers[] = "residuals";

/// Epilogues keep what integer-only kernels can apply to a node's sums: one ReLU, ReLU6, Clip or
/// PReLU. The steps after it become nodes again.
Graph SplitForIntegers(Graph graph);

struct IntegerOptions {
  bool refuses = false;  ///< a node without an integer-only form is an Error
  kernels::Rounding rounding = kernels::Rounding::DOUBLE;
  WeightRounding weights;
  int activation_bits = 8;  ///< 2 to 8 bits of the blobs' bytes are used
  /// For each node: 8-bit integers were asked for.
  std::vector<bool> wanted;
  /// The means of each value's channels, with which biases are corrected for the rounding of
  /// weights; empty if unknown.
  std::vector<std::vector<float>> means;
  /// Called with a line for each node that stays float, and why.
  std::function<void(const std::string& line)> remark;
};

/// Makes all nodes integer-only that can be: they get `integers` and integer parameters, and the
/// values that they read and write a type and quantization. The scales of values come from the
/// table; a node that only moves elements shares one with its inputs. Throws Error, naming layer
/// and reason, for a node without an integer-only form if options.refuses, and for invalid ranges.
Graph ToIntegers(Graph graph, const CalibrationTable& table, const IntegerOptions& options);

/// How the values of such a graph become 8-bit integers.
std::vector<Range> RangesOf(const Graph& integers);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_INTEGERS_HPP_
