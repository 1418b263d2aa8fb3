#ifndef CAFFE_IO_CONVERSION_REPORT_HPP_
#define CAFFE_IO_CONVERSION_REPORT_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caffe/io/caffemodel.hpp"

namespace caffe {

/// What became of numbers that were rounded to another type.
struct ConversionCounts {
  int64_t values = 0;
  int64_t overflowed = 0;  ///< finite before, beyond the type's largest number after rounding
  int64_t subnormal = 0;   ///< nonzero and below the type's smallest normal number
  int64_t zeroed = 0;      ///< not zero before, zero after rounding
  int64_t nans = 0;        ///< before
  int64_t infinities = 0;  ///< before
  /// |after - before| / |before|, over finite values that neither overflowed nor became zero.
  double largest_error = 0;

  void Add(const ConversionCounts& other);
};

/// One row of a report.
struct LayerConversion {
  std::string layer;
  std::string stored;  ///< the types in the file: "FLOAT16", "FLOAT", ...
  ConversionCounts counts;
};

/// Rounds all elements of `payload` to FLOAT or FLOAT16, to nearest even, and gives them to `write`
/// piece by piece. Finite numbers beyond the type's largest become infinity or, with `clamp`, the
/// largest. NaN becomes a quiet NaN. Throws Error for payloads of integers.
ConversionCounts ConvertCounting(const Payload& payload, ElementType to, bool clamp,
                                 const std::function<void(const void*, size_t bytes)>& write);

/// The rows below a header, columns lined up, with a last row for all layers together.
std::string ConversionTable(const std::vector<LayerConversion>& layers);

}  // namespace caffe

#endif  // CAFFE_IO_CONVERSION_REPORT_HPP_
