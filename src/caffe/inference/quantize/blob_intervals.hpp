#ifndef CAFFE_INFERENCE_QUANTIZE_BLOB_INTERVALS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_BLOB_INTERVALS_HPP_

#include <string>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/quantization.hpp"
#include "range.hpp"

namespace caffe::inference {

/// Real numbers that become integers: least <= 0 <= most.
struct Interval {
  double least = 0, most = 0;
  bool known() const { return least < most; }
  void Include(const Interval& other);
};

/// The range of a blob's values that do not saturate, extended to 0. Throws Error, naming the blob,
/// for an invalid range.
Interval IntervalOf(const std::string& blob, const BlobCalibration& range);

/// The numbers that the integers of so many bits stand for. The inverse of RangeOf.
Interval IntervalOf(const Range& range, int bits = 8);

/// The largest integer of so many bits: a blob's smallest one is 0 or minus this number.
constexpr int LargestOf(bool is_unsigned, int bits) {
  return (1 << (is_unsigned ? bits : bits - 1)) - 1;
}

/// Scale, zero point and type of the integers of so many bits for these numbers; 0 is exact.
Range RangeOf(const Interval& interval, QuantizationScheme scheme, int bits = 8);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_BLOB_INTERVALS_HPP_
