#include "blob_intervals.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"

namespace caffe {
namespace inference {

void Interval::Include(const Interval& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

Interval IntervalOf(const std::string& blob, const BlobCalibration& range) {
  Require(std::isfinite(range.threshold) && range.threshold > 0 && std::isfinite(range.minimum) &&
              std::isfinite(range.maximum) && range.minimum <= range.maximum,
          "blob '", blob, "': from ", range.minimum, " to ", range.maximum, ", with threshold ",
          range.threshold, ", is no range: calibrate again");
  const double lowest = range.is_unsigned ? 0 : -range.threshold;
  const bool is_seen = range.minimum < range.maximum;
  return {is_seen ? std::clamp(range.minimum, lowest, 0.) : lowest,
          is_seen ? std::clamp(range.maximum, 0., range.threshold) : range.threshold};
}

Range RangeOf(const Interval& interval, QuantizationScheme scheme, int bits) {
  Range range;
  if (!interval.known()) return range;
  range.is_unsigned = scheme != QuantizationScheme::SYMMETRIC || interval.least >= 0;
  if (scheme == QuantizationScheme::SYMMETRIC) {
    const double threshold = std::max(-interval.least, interval.most);
    range.scale = static_cast<float>(threshold / LargestOf(range.is_unsigned, bits));
    return range;
  }
  const int most = LargestOf(true, bits);
  range.scale = static_cast<float>((interval.most - interval.least) / most);
  if (!(range.scale > 0)) return range;
  range.zero_point =
      static_cast<int>(std::clamp<double>(std::round(-interval.least / range.scale), 0, most));
  return range;
}

}  // namespace inference
}  // namespace caffe
