#ifndef CAFFE_INFERENCE_QUANTIZE_VALUE_RANGES_HPP_
#define CAFFE_INFERENCE_QUANTIZE_VALUE_RANGES_HPP_

#include <vector>

#include "caffe/inference/backends/implementation.hpp"
#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/quantization.hpp"

namespace caffe::inference {

/// How each value of an optimized graph becomes 8-bit integers, by its name in the table.
/// `integers` says which nodes may compute in 8 bits. Only what such a layer with weights reads has
/// a range, and what is moved to one, or becomes what it reads in a layer that `rounds` (one a
/// node; none if empty): elsewhere rounding would cost accuracy and save nothing. Values that a
/// layer only moves from one to another (Concat, Slice, reshaping, max pooling) share one scale,
/// the largest of their thresholds', so that they are moved as they are; a value that the table
/// lacks gets its scale so too. Others that it lacks have none. Without `unsigned_too` all are
/// signed, those of values that are never negative as well. Schemes other than SYMMETRIC have zero
/// points.
std::vector<Range> RangesOf(const Graph& graph, const CalibrationTable& table,
                            const std::vector<bool>& integers, const std::vector<bool>& rounds = {},
                            bool unsigned_too = true,
                            QuantizationScheme scheme = QuantizationScheme::SYMMETRIC);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_VALUE_RANGES_HPP_
