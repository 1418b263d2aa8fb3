#ifndef CAFFE_TEST_RESCALINGS_HPP_
#define CAFFE_TEST_RESCALINGS_HPP_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/fixed_point.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

// How sums of 8-bit kernels become bytes with integers alone, by chance.
namespace caffe::kernels {

template <typename T>
constexpr int kFirst = std::numeric_limits<T>::min();
template <typename T>
constexpr int kLast = std::numeric_limits<T>::max();

enum class Multipliers {
  USUAL,    ///< shifts to the right, and none
  ALL,      ///< to the left, too, and by up to 31; zeros; at times with others for negative sums
  NEGATIVE  ///< the usual ones, and others of all slopes for negative sums
};

/// Numbers for each output, and what they are numbers of.
struct RescalingOf {
  std::vector<int32_t> bias, multipliers, shifts, negative_multipliers, negative_shifts;
  bool has_negative;
  Rescaling by;
};

/// Whose outputs are spread over the bytes of Y, for so many products of bytes a sum.
template <typename X, typename Y>
RescalingOf RandomRescaling(int outputs, size_t terms, Rounding rounding, Multipliers numbers,
                            std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  const double most_sum = static_cast<double>(terms) * 255 * 128;
  const int usual = -static_cast<int>(std::log2(std::sqrt(double(terms)) * 64 * 64 / 128));
  // A sum and its bias may be twice as large, and have to fit 32 bits when they are shifted.
  const int most_left = 30 - static_cast<int>(std::ceil(std::log2(2 * most_sum)));
  const auto shift = [&] {
    if (between(0, 1) > 0) return std::max(-31, usual + between(-2, 2));
    if (numbers != Multipliers::ALL) return between(-20, 0);
    return between(0, 3) > 0 ? between(-31, 0) : std::min(between(0, 30), std::max(0, most_left));
  };
  const auto value = [&] {
    return numbers == Multipliers::ALL && between(0, 9) == 0 ? 0 : between(1 << 30, 2147483647);
  };
  RescalingOf r;
  r.has_negative =
      numbers == Multipliers::NEGATIVE || (numbers == Multipliers::ALL && between(0, 1) > 0);
  for (int o = 0; o < outputs; ++o) {
    const int most_bias = static_cast<int>(std::min(most_sum, 5e8));
    r.bias.push_back(between(-most_bias, most_bias) >> between(0, 12));
    r.multipliers.push_back(value());
    r.shifts.push_back(shift());
    const int slope = between(0, 9);
    r.negative_multipliers.push_back(slope == 0 ? 0 : slope < 4 ? -value() : value());
    r.negative_shifts.push_back(slope < 8 ? shift() : between(-31, 0));
  }
  r.by.rounding = rounding;
  r.by.input_zero_point = between(kFirst<X>, kLast<X>);
  r.by.zero_point = between(kFirst<Y>, kLast<Y>);
  r.by.least = between(0, 1) ? kFirst<Y> : r.by.zero_point;
  r.by.most = between(0, 1) ? kLast<Y> : between(r.by.least, kLast<Y>);
  return r;
}

inline Rescaling At(const RescalingOf& r) {
  Rescaling by = r.by;
  by.bias = r.bias.data();
  by.multipliers = r.multipliers.data();
  by.shifts = r.shifts.data();
  if (r.has_negative) {
    by.negative_multipliers = r.negative_multipliers.data();
    by.negative_shifts = r.negative_shifts.data();
  }
  return by;
}

/// The sum of what a Rescaling makes and a residual of a kind. `steep`: its steps are so far above
/// the result's that there is no linear form.
template <typename Y>
ByteSum RandomSum(const Rescaling& by, bool residual_is_unsigned, bool steep,
                  std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  const auto value = [&] { return between(1 << 30, 2147483647); };
  ByteSum sum;
  sum.zero_point = by.zero_point;
  sum.residual_zero_point = residual_is_unsigned ? between(0, 255) : between(-128, 127);
  sum.by = {1 << 30, 0};
  sum.residual_by = {value(), between(-3, -1)};
  if (between(0, 1)) std::swap(sum.by, sum.residual_by);
  sum.result.by = {value(), steep ? -2 : -19};
  sum.result.rounding = by.rounding;
  sum.result.zero_point = between(kFirst<Y>, kLast<Y>);
  sum.result.least = between(0, 1) ? kFirst<Y> : sum.result.zero_point;
  sum.result.most = kLast<Y>;
  return sum;
}

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_RESCALINGS_HPP_
