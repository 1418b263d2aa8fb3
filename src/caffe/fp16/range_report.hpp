#ifndef CAFFE_FP16_RANGE_REPORT_HPP_
#define CAFFE_FP16_RANGE_REPORT_HPP_

#include <ostream>
#include <string>

#include "caffe/fp16/range_inspector.hpp"
#include "caffe/fp16/range_rewriting.hpp"

namespace caffe {

/// A row for each top (of layers in place, too): the largest |x|, the smallest that is not 0, the
/// share above 65504, the share that FP16 holds with fewer digits (subnormal) or as 0 (flushed).
/// Rows that do not fit are marked '!'. Below the table: the regions, what overflows inside layers,
/// parameters that do not fit.
void PrintRanges(const RangeInspector& inspector, std::ostream& out);

/// What the rewriting did.
void PrintRewriting(const RangeRewriting& rewriting, std::ostream& out);

/// A line for each region and each layer's weights of which a factor has made more than `most` (a
/// share, 0 to 1) subnormal in FLOAT16. True if there are any.
bool PrintLostDigits(const RangeRewriting& rewriting, double most, std::ostream& out);

/// The same as JSON: {"batches", "layers": [{"name", "type", "tops": [...], "parameters": [...],
/// "inside": {...}}], "regions": [...], "overflows_inside": [...]} and, if there is a rewriting,
/// "rewriting": {"regions", "folded", "float_layers", ...}. Magnitudes are objects {"name",
/// "count", "largest", "smallest_nonzero", "share_above", "share_subnormal", "share_flushed",
/// "zeros", "not_finite"}.
std::string RangesAsJson(const RangeInspector& inspector,
                         const RangeRewriting* rewriting = nullptr);

/// An SVG image: a row for each top with the range of its values, the octaves between which 98 % of
/// them lie, what is held inside the layer, and FP16's limits.
std::string RangesAsSvg(const RangeInspector& inspector, const std::string& title);

}  // namespace caffe

#endif  // CAFFE_FP16_RANGE_REPORT_HPP_
