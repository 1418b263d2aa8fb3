#ifndef CAFFE_KERNELS_FAKE_QUANTIZATION_HPP_
#define CAFFE_KERNELS_FAKE_QUANTIZATION_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "caffe/kernels/host_device.hpp"

// Rounding to integers and back, as training simulates it: B. Jacob et al. (arXiv:1712.05877),
// section 3.
namespace caffe::kernels {

/// Integers that stand for real numbers: r = scale (q - zero_point), least <= q <= most. With scale
/// 0 the only number is 0.
struct IntegerGrid {
  float scale = 0;
  int32_t zero_point = 0, least = 0, most = 0;
  /// Numbers within 2^-10 of half way between two integers become the one farther from `middle`, as
  /// integer means are rounded.
  bool rounds_means = false;
  int32_t middle = 0;

  /// The numbers that `least` and `most` stand for.
  float low() const { return scale * static_cast<float>(least - zero_point); }
  float high() const { return scale * static_cast<float>(most - zero_point); }
};

/// The integers least to most over [minimum, maximum], which is widened to hold 0 and then shifted
/// by at most half a step, so that 0 is on the grid. Both must be finite.
IntegerGrid AffineGrid(double minimum, double maximum, int32_t least, int32_t most);
/// zero_point = 0: the largest magnitude becomes `steps`. Numbers below 0 become -steps to -1, or,
/// with `is_unsigned`, 0.
IntegerGrid SymmetricGrid(double magnitude, int32_t steps, bool is_unsigned);

/// What FakeQuantize does to one number, in C (float or double), for grids with a scale.
template <typename C>
struct GridRounding {
  explicit GridRounding(const IntegerGrid& grid)
      : scale(grid.scale),
        factor(C(1) / scale),
        low(static_cast<C>(grid.least - grid.zero_point)),
        high(static_cast<C>(grid.most - grid.zero_point)),
        middle(static_cast<C>(grid.middle - grid.zero_point)),
        nudge(grid.rounds_means ? C(1) / 1024 : C(0)) {}

  CAFFE_HOST_DEVICE C operator()(C x) const {
    // Adding a number to it rounds that to an integer, halves to even.
    constexpr C kRounder = C(3) * (C(1) / std::numeric_limits<C>::epsilon()) / C(2);
    C q = Times(x, factor);
    q += q > middle ? nudge : -nudge;
    q = q < low ? low : q;  // a NaN stays one
    q = q > high ? high : q;
    return scale * ((q + kRounder) - kRounder);
  }

  C scale, factor, low, high, middle, nudge;

 private:
  /// Rounded by itself: nvcc would fuse it with the addition that follows.
  CAFFE_HOST_DEVICE static float Times(float a, float b) {
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
  }
  CAFFE_HOST_DEVICE static double Times(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
  }
};

/// y = scale (clamp(round(x / scale) + zero_point, least, most) - zero_point). The quotient is a
/// product with 1 / scale in float, in double where T is double; halves go to the even neighbour; a
/// NaN stays one. y may be x. T is float, double or float16.
template <typename T>
void FakeQuantize(size_t n, const IntegerGrid& grid, const T* x, T* y);

/// dx = dy where x lies between the grid's ends, both included, else 0.
template <typename T, typename D>
void FakeQuantizeGradient(size_t n, const IntegerGrid& grid, const T* x, const D* dy, D* dx);

/// The minimum and maximum of 0 and n values. Returns false if there are infinities or NaNs.
template <typename T>
bool RangeWithZero(size_t n, const T* x, float* least, float* most);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_FAKE_QUANTIZATION_HPP_
