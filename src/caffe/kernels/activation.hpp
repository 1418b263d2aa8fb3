#ifndef CAFFE_KERNELS_ACTIVATION_HPP_
#define CAFFE_KERNELS_ACTIVATION_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// A function of one number, applied element by element: by layers of its own, or by a kernel to
/// its results before it writes them (post_ops.hpp).
struct Activation {
  enum Kind {
    NONE,          ///< x
    RELU,          ///< x for x > 0, a x otherwise
    PRELU,         ///< x for x > 0, slopes[channel] x otherwise; only in PostOps
    ABSOLUTE,      ///< |x|
    POWER,         ///< (a + b x)^c
    EXPONENTIAL,   ///< b exp(a x)
    LOGARITHM,     ///< c log(a + b x)
    SIGMOID,       ///< 1 / (1 + exp(-x))
    TANH,          ///< tanh(x)
    SOFTPLUS,      ///< log(1 + exp(x))
    ELU,           ///< b x for x > 0, b a (exp(x) - 1) otherwise
    SWISH,         ///< x / (1 + exp(-a x))
    CLIP,          ///< a for x < a, b for x > b, x otherwise
    THRESHOLD,     ///< 1 for x > a, 0 otherwise; has no gradient
    CLIPPED_RELU,  ///< a for x > a, b x for x < 0, x otherwise
    HARD_SWISH,    ///< x times (a x + b clamped to [0, 1])
    GELU,          ///< x times the standard normal distribution function at x
  };
  /// What the derivative is computed from. EITHER: x or y will do.
  enum class Argument { INPUT, OUTPUT, EITHER };

  Kind kind = NONE;
  double a = 0, b = 0, c = 0;
  /// Slopes of PRELU: one per channel, then any values up to the next multiple of 16.
  const float* slopes = nullptr;

  Argument GradientArgument() const;
  bool operator==(const Activation& other) const {
    return kind == other.kind && a == other.a && b == other.b && c == other.c &&
           slopes == other.slopes;
  }
};

/// f(x) by its definition, for tables. Not for PRELU.
double ValueOf(const Activation& f, double x);

// T, D: float, double or float16; double only together with double. An output may be one of the
// inputs of the same type. Arithmetic is in float for 16-bit types.

/// y = f(x).
template <typename T>
void Activate(const Activation& f, size_t n, const T* x, T* y);
/// dx = f'(x) dy; `v` is x or y, as f.GradientArgument() says.
template <typename T, typename D>
void ActivateGradient(const Activation& f, size_t n, const T* v, const D* dy, D* dx);

// Arrays of shape (outer, channels, inner), one slope per channel.

/// y = x for x > 0, slope[c] x otherwise.
template <typename T>
void PRelu(size_t outer, size_t channels, size_t inner, const AccumulatorType<T>* slope, const T* x,
           T* y);
/// dx = dy for x > 0, slope[c] dy otherwise.
template <typename T, typename D>
void PReluGradient(size_t outer, size_t channels, size_t inner, const AccumulatorType<D>* slope,
                   const T* x, const D* dy, D* dx);
/// d_slope[c] = the sum over outer and inner of min(x, 0) dy; overwritten.
template <typename T, typename D>
void PReluSlopeGradient(size_t outer, size_t channels, size_t inner, const T* x, const D* dy,
                        double* d_slope);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_ACTIVATION_HPP_
