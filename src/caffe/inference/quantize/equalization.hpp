#ifndef CAFFE_INFERENCE_QUANTIZE_EQUALIZATION_HPP_
#define CAFFE_INFERENCE_QUANTIZE_EQUALIZATION_HPP_

#include <vector>

#include "caffe/inference/backends/implementation.hpp"
#include "caffe/inference/calibration_table.hpp"

namespace caffe::inference {

/// Makes better use of 8 bits where the channels of a blob differ in size: the layer in front
/// divides a channel by a number, the layers behind multiply their weights by it, and what lies in
/// between (ReLU, PReLU, pooling, Concat, Slice, sums) hands it on. The net computes the same, the
/// small channels lose fewer digits (after Nagel et al. 2019, arXiv:1906.04721, with ranges of
/// activations instead of weights).
///
/// `ranges`, by value of `graph`, stay as they are: channels only grow, up to the range of their
/// blob. Taken are values that have one and of which `table` knows the channels. Values say what
/// became of them (Value::channel_scales).
Graph EqualizeChannels(Graph graph, const CalibrationTable& table,
                       const std::vector<Range>& ranges);

/// Of each value of such a graph: the means of its channels, as it has them; nothing where the
/// table does not know them.
std::vector<std::vector<float>> MeansOf(const Graph& graph, const CalibrationTable& table);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_EQUALIZATION_HPP_
