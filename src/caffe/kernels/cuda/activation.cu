#include "caffe/kernels/cuda/activation.hpp"

#include "caffe/kernels/instances.hpp"
#include "map.hpp"

namespace caffe::cuda {
namespace {

using kernels::Activation;

/// An Activation with its numbers in the type of the arithmetic.
template <typename F>
struct Function {
  Activation::Kind kind;
  bool from_output;  // the gradient is computed from y
  F a, b, c;

  __host__ __device__ F Value(F x) const {
    switch (kind) {
      case Activation::NONE:
      case Activation::PRELU:  // needs the channels: PRelu
        return x;
      case Activation::RELU:
        return LeakyRelu(a, x);
      case Activation::ABSOLUTE:
        return x < 0 ? -x : x;
      case Activation::POWER:
        return c == 1 ? a + b * x : c == 2 ? (a + b * x) * (a + b * x) : pow(a + b * x, c);
      case Activation::EXPONENTIAL:
        return b * exp(a * x);
      case Activation::LOGARITHM:
        return c * log(a + b * x);
      case Activation::SIGMOID:
        return Sigmoid(x);
      case Activation::TANH:
        return tanh(x);
      case Activation::SOFTPLUS:  // the exponent is never positive: no overflow
        return log1p(exp(x < 0 ? x : -x)) + (x < 0 ? F(0) : x);
      case Activation::ELU:
        return x > 0 ? b * x : a * b * expm1(x);
      case Activation::SWISH:
        return x * Sigmoid(a * x);
      case Activation::CLIP:
        return x < a ? a : x > b ? b : x;
      case Activation::THRESHOLD:
        return x > a ? F(1) : F(0);
      case Activation::CLIPPED_RELU:
        return x < 0 ? b * x : x > a ? a : x;
      case Activation::HARD_SWISH: {
        const F gate = a * x + b;
        return gate <= 0 ? F(0) : gate >= 1 ? x : x * gate;
      }
      case Activation::GELU: {
        const F below = Below(x);
        return below == 0 ? F(0) : x * below;
      }
    }
    return x;
  }

  /// The derivative, from x or y as GradientArgument() says.
  __host__ __device__ F Slope(F v) const {
    switch (kind) {
      case Activation::NONE:
      case Activation::PRELU:
        return F(1);
      case Activation::RELU:
        return v > 0 ? F(1) : a;
      case Activation::ABSOLUTE:
        return F(v > 0) - F(v < 0);
      case Activation::POWER:
        return b * c == 0 ? F(0) : c == 1 ? b : b * c * pow(a + b * v, c - 1);
      case Activation::EXPONENTIAL:
        return a * v;
      case Activation::LOGARITHM:
        return b * c / (a + b * v);
      case Activation::SIGMOID:
        return v * (F(1) - v);
      case Activation::TANH:
        return F(1) - v * v;
      case Activation::SOFTPLUS:
        return Sigmoid(v);
      case Activation::ELU:
        return v > 0 ? b : from_output ? v + a * b : a * b * exp(v);
      case Activation::SWISH: {
        const F s = Sigmoid(a * v);
        return s + a * v * (s * (F(1) - s));
      }
      case Activation::CLIP:
        return F(v >= a && v <= b);
      case Activation::THRESHOLD:
        return F(0);
      case Activation::CLIPPED_RELU:
        return v > 0 ? F(v < a) : b;
      case Activation::HARD_SWISH: {
        const F gate = a * v + b;
        return gate <= 0 ? F(0) : gate >= 1 ? F(1) : gate + a * v;
      }
      case Activation::GELU: {
        const F density = F(0.39894228040143267794) * exp(F(-0.5) * v * v);  // 1 / sqrt(2 pi)
        return Below(v) + (density == 0 ? F(0) : v * density);
      }
    }
    return F(0);
  }

  /// The standard normal distribution function.
  __host__ __device__ static F Below(F x) { return F(0.5) * erfc(-x * F(0.70710678118654752440)); }
  __host__ __device__ static F Sigmoid(F x) { return F(1) / (F(1) + exp(-x)); }
};

/// `T` is the type of stored results: their threshold is rounded to it, so that equality is
/// recognised.
template <typename T, typename F>
Function<F> FunctionOf(const Activation& f) {
  const double a =
      f.kind == Activation::CLIPPED_RELU ? static_cast<double>(static_cast<T>(f.a)) : f.a;
  return {f.kind, f.GradientArgument() == Activation::Argument::OUTPUT, static_cast<F>(a),
          static_cast<F>(f.b), static_cast<F>(f.c)};
}

}  // namespace

template <typename T>
void Activate(Stream& stream, const Activation& f, int n, const T* x, T* y) {
  const auto function = FunctionOf<T, Math<T>>(f);
  if (f.kind == Activation::RELU) {  // a small kernel: nets use it often
    const auto slope = function.a;
    Map(stream, n, x, y,
        [=] __host__ __device__(Math<T> value) { return LeakyRelu(slope, value); });
    return;
  }
  Map(stream, n, x, y, [=] __host__ __device__(Math<T> value) { return function.Value(value); });
}

template <typename T, typename D>
void ActivateGradient(Stream& stream, const Activation& f, int n, const T* v, const D* dy, D* dx) {
  const auto function = FunctionOf<T, Math<D>>(f);
  if (f.kind == Activation::RELU) {
    const auto slope = function.a;
    Map(stream, n, v, dy, dx, [=] __host__ __device__(Math<T> value, Math<D> gradient) {
      return value > 0 ? gradient : slope * gradient;
    });
    return;
  }
  Map(stream, n, v, dy, dx, [=] __host__ __device__(Math<T> value, Math<D> gradient) {
    return gradient * function.Slope(value);
  });
}

template <typename T>
void PRelu(Stream& stream, int outer, int channels, int inner, const AccumulatorType<T>* slope,
           const T* x, T* y) {
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const auto value = Load(x + i);
    Store(y + i, value > 0 ? value : slope[i / inner % channels] * value);
  });
}

template <typename T, typename D>
void PReluGradient(Stream& stream, int outer, int channels, int inner,
                   const AccumulatorType<D>* slope, const T* x, const D* dy, D* dx) {
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const auto above = Load(dy + i);
    Store(dx + i, Load(x + i) > 0 ? above : slope[i / inner % channels] * above);
  });
}

template <typename T, typename D>
void PReluSlopeGradient(Stream& stream, int outer, int channels, int inner, const T* x, const D* dy,
                        AccumulatorType<D>* d_slope) {
  using F = Math<D>;
  SumRows<double>(
      stream, channels, outer * inner,
      [=] __host__ __device__(int c, int i) {
        const int at = (i / inner * channels + c) * inner + i % inner;
        const F value = Load(x + at);
        return value < 0 ? static_cast<double>(value * static_cast<F>(Load(dy + at))) : 0.;
      },
      [=] __host__ __device__(int c, double sum) { d_slope[c] += static_cast<F>(sum); });
}

template <typename T>
void SoftTruncation(Stream& stream, int n, T c, const T* x, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = 1 - exp(-x[i] / c); });
}

template <typename T>
void SoftTruncationGradient(Stream& stream, int n, T c, const T* y, const T* dy, T* dx) {
  ForEach(stream, n, [=] __host__ __device__(int i) { dx[i] = dy[i] * (1 - y[i]) / c; });
}

template void SoftTruncation(Stream&, int, float, const float*, float*);
template void SoftTruncation(Stream&, int, double, const double*, double*);
template void SoftTruncationGradient(Stream&, int, float, const float*, const float*, float*);
template void SoftTruncationGradient(Stream&, int, double, const double*, const double*, double*);

#define INSTANTIATE(T)                                                   \
  template void Activate(Stream&, const Activation&, int, const T*, T*); \
  template void PRelu(Stream&, int, int, int, const AccumulatorType<T>*, const T*, T*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, D)                                                                  \
  template void ActivateGradient(Stream&, const Activation&, int, const T*, const D*, D*); \
  template void PReluGradient(Stream&, int, int, int, const AccumulatorType<D>*, const T*, \
                              const D*, D*);                                               \
  template void PReluSlopeGradient(Stream&, int, int, int, const T*, const D*, AccumulatorType<D>*);
CAFFE_FOR_EACH_PAIR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace caffe::cuda
