#include "blob_intervals.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"
#include "caffe/kernels/fake_quantization.hpp"

namespace caffe::inference {

void Interval::Include(const Interval& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

Interval IntervalOf(const std::string& blob, const BlobCalibration& range) {
  Require(std::isfinite(range.threshold) && range.threshold > 0 && std::isfinite(range.minimum) &&
              std::isfinite(range.maximum) && range.minimum <= range.maximum,
          "blob '", blob, "': from ", range.minimum, " to ", range.maximum, ", with threshold ",
          range.threshold, ", is no range", Error::Remedy{"calibrate again"});
  const double lowest = range.is_unsigned ? 0 : -range.threshold;
  const bool is_seen = range.minimum < range.maximum;
  return {is_seen ? std::clamp(range.minimum, lowest, 0.) : lowest,
          is_seen ? std::clamp(range.maximum, 0., range.threshold) : range.threshold};
}

Interval IntervalOf(const Range& range, int bits) {
  const int most = LargestOf(range.is_unsigned, bits), least = range.is_unsigned ? 0 : -most;
  return {double(range.scale) * (least - range.zero_point),
          double(range.scale) * (most - range.zero_point)};
}

Range RangeOf(const Interval& interval, QuantizationScheme scheme, int bits) {
  if (!interval.known()) return Range();
  const bool is_unsigned = scheme != QuantizationScheme::SYMMETRIC || interval.least >= 0;
  const int largest = LargestOf(is_unsigned, bits);
  const kernels::IntegerGrid grid =
      scheme == QuantizationScheme::SYMMETRIC
          ? kernels::SymmetricGrid(std::max(-interval.least, interval.most), largest, is_unsigned)
          : kernels::AffineGrid(interval.least, interval.most, 0, largest);
  return {grid.scale, is_unsigned, grid.zero_point};
}

}  // namespace caffe::inference
