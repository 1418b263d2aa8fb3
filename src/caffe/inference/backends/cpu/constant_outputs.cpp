#include "constant_outputs.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

namespace caffe::inference::cpu {
namespace {

using Limits = std::numeric_limits<int32_t>;

int32_t ValueOf(const OutputRow& row, int64_t sum, kernels::Rounding rounding,
                const ValueBounds& bounds) {
  kernels::Rescaling by;
  by.bias = &row.bias;
  by.multipliers = &row.positive.value;
  by.shifts = &row.positive.shift;
  by.negative_multipliers = &row.negative.value;
  by.negative_shifts = &row.negative.shift;
  by.rounding = rounding;
  by.least = bounds.least;
  by.most = bounds.most;
  return kernels::Rescaled(by, 0, static_cast<int32_t>(sum));
}

/// True if values are monotone in sums, and everything fits 32 bits.
bool Rises(const OutputRow& row, const SumRange& sums) {
  const auto rises = [](const kernels::Multiplier& by) { return by.value >= 0 && by.shift <= 0; };
  return rises(row.positive) && rises(row.negative) &&
         std::min<int64_t>(sums.least, 0) + row.bias >= Limits::min() &&
         std::max<int64_t>(sums.most, 0) + row.bias <= Limits::max();
}

/// The value of all sums, if it is the same.
std::optional<int32_t> ConstantOfRow(const OutputRow& row, const SumRange& sums,
                                     kernels::Rounding rounding, const ValueBounds& bounds) {
  if (!Rises(row, sums)) return std::nullopt;
  const int32_t value = ValueOf(row, sums.least, rounding, bounds);
  if (value != ValueOf(row, sums.most, rounding, bounds)) return std::nullopt;
  return value;
}

}  // namespace

SumRange SumsOf(size_t terms, const int8_t* weights) {
  SumRange sums;
  for (size_t i = 0; i < terms; ++i) {
    const int w = weights[i];
    sums.least += w > 0 ? -128 * w : 255 * w;
    sums.most += w > 0 ? 255 * w : -128 * w;
  }
  return sums;
}

OutputRow SimplifiedIfConstant(const OutputRow& row, const SumRange& sums,
                               kernels::Rounding rounding, const ValueBounds& bounds) {
  constexpr int64_t kMaxBias = 1 << 28;
  const std::optional<int32_t> value = ConstantOfRow(row, sums, rounding, bounds);
  if (!value) return row;
  OutputRow simple;
  if (*value != 0) {  // sums less the bias are less than a half of the value's step
    int shift = 0;
    while (int64_t{1} << shift <= std::max(-sums.least, sums.most)) ++shift;
    const int64_t step = int64_t{2} << shift;
    if (std::abs(*value) * step > kMaxBias) return row;
    simple.bias = static_cast<int32_t>(*value * step);
    simple.positive = simple.negative = {1 << 30, -shift};
  }
  return ConstantOfRow(simple, sums, rounding, bounds) == value ? simple : row;
}

}  // namespace caffe::inference::cpu
