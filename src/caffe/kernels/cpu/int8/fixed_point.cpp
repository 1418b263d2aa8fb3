#include "caffe/kernels/fixed_point.hpp"

#include <cmath>

#include "caffe/error.hpp"

namespace caffe::kernels {

Multiplier MultiplierOf(double real) {
  Require(std::isfinite(real) && real >= 0 && real <= 1 << 30,
          "a multiplier must be between 0 and ", 1 << 30, ", got ", real);
  if (real == 0) return {};
  int shift;
  const double fraction = std::frexp(real, &shift);  // [0.5, 1)
  int64_t value = std::llround(std::ldexp(fraction, 31));
  if (value == int64_t{1} << 31) {
    value /= 2;
    ++shift;
  }
  if (shift < -31) return {};
  return {static_cast<int32_t>(value), shift};
}

double RealOf(Multiplier multiplier) { return std::ldexp(multiplier.value, multiplier.shift - 31); }

}  // namespace caffe::kernels
