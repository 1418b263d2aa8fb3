#ifndef CAFFE_INFERENCE_QUANTIZE_VALUE_RANGES_HPP_
#define CAFFE_INFERENCE_QUANTIZE_VALUE_RANGES_HPP_

#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/quantization.hpp"
#include "range.hpp"

namespace caffe::inference {

/// How each value of an optimized graph becomes 8-bit integers, by its name in the table.
/// `integers` says which nodes may compute in 8 bits. Only values that such a layer with weights
/// reads have a range, directly or through layers that move them or that `rounds` (one entry a
/// node; empty: none): elsewhere rounding would cost accuracy and save nothing. Values that a layer
/// only moves (Concat, Slice, reshaping, max pooling) share one scale, that of the largest
/// threshold, so that bytes are copied; a value that the table lacks gets its scale in this way
/// too, if it consists of the others' numbers or is wholly in one of them. Others that it lacks
/// have none, and share none. Without `unsigned_too` all are signed, even if they are never
/// negative. Schemes other than SYMMETRIC have zero points.
std::vector<Range> RangesOf(const Graph& graph, const CalibrationTable& table,
                            const std::vector<bool>& integers, const std::vector<bool>& rounds = {},
                            bool unsigned_too = true,
                            QuantizationScheme scheme = QuantizationScheme::SYMMETRIC);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_VALUE_RANGES_HPP_
