#ifndef CAFFE_INFERENCE_QUANTIZE_EQUALIZATION_HPP_
#define CAFFE_INFERENCE_QUANTIZE_EQUALIZATION_HPP_

#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/graph.hpp"
#include "range.hpp"

namespace caffe::inference {

/// Makes better use of 8 bits where the channels of a blob differ in magnitude: the layer before it
/// divides a channel by a number, the layers after it multiply their weights by that number, and
/// layers in between (ReLU, PReLU, pooling, Concat, Slice, sums) commute with it. The net computes
/// the same, and small channels lose fewer digits (after Nagel et al. 2019, arXiv:1906.04721, with
/// ranges of activations instead of weights).
///
/// `ranges`, by value of `graph`, stay as they are: channels only grow, up to the range of their
/// blob. Taken are values that have one and of which `table` knows the channels.
/// Value::channel_scales has the divisors.
Graph EqualizeChannels(Graph graph, const CalibrationTable& table,
                       const std::vector<Range>& ranges);

/// The means of the channels of each value of such a graph, as it has them; nothing where the table
/// does not know them.
std::vector<std::vector<float>> MeansOf(const Graph& graph, const CalibrationTable& table);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_EQUALIZATION_HPP_
