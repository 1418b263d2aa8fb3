#include "caffe/kernels/activation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "chunks.hpp"
#include "half_arithmetic.hpp"

namespace caffe::kernels {

Activation::Argument Activation::GradientArgument() const {
  switch (kind) {
    case EXPONENTIAL:
    case SIGMOID:
    case TANH:
      return Argument::OUTPUT;
    case POWER:  // a constant derivative needs neither
      return b * c == 0 || c == 1 ? Argument::EITHER : Argument::INPUT;
    case RELU:
      return a >= 0 ? Argument::EITHER : Argument::INPUT;
    case ELU:  // y has the sign of x
      return a > 0 && b > 0 ? Argument::OUTPUT : Argument::INPUT;
    case CLIPPED_RELU:
      return a > 0 && b >= 0 ? Argument::EITHER : Argument::INPUT;
    default:
      return Argument::INPUT;
  }
}

namespace {

// The functions on one chunk; F is float or double.

template <typename F>
void PowerOf(F shift, F scale, F power, size_t n, const F* x, F* y) {
  if (power == 0 || scale == 0) {
    std::fill_n(y, n, power == 0 ? F(1) : std::pow(shift, power));
  } else if (power == 1) {
    Loops<F>().affine(n, scale, shift, x, y);
  } else if (power == 2) {
    Loops<F>().affine(n, scale, shift, x, y);
    Loops<F>().multiply(n, y, y, y);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = std::pow(shift + scale * x[i], power);
  }
}

template <typename F>
void ActivateChunk(const Activation& f, size_t n, const F* x, F* y) {
  const F a = static_cast<F>(f.a), b = static_cast<F>(f.b), c = static_cast<F>(f.c);
  const ArithmeticLoops<F>& loops = Loops<F>();
  F scratch[kChunk];
  switch (f.kind) {
    case Activation::NONE:
      std::copy_n(x, x == y ? 0 : n, y);
      return;
    case Activation::RELU:
      return loops.relu(n, a, x, y);
    case Activation::PRELU:  // needs the channels: PRelu
      return;
    case Activation::ABSOLUTE:
      for (size_t i = 0; i < n; ++i) y[i] = std::abs(x[i]);
      return;
    case Activation::POWER:
      return PowerOf(a, b, c, n, x, y);
    case Activation::EXPONENTIAL:
      return loops.exponential(n, a, b, x, y);
    case Activation::LOGARITHM:
      return loops.logarithm(n, a, b, c, x, y);
    case Activation::SIGMOID:
      return loops.sigmoid(n, F(1), x, y);
    case Activation::TANH:
      return loops.tanh(n, x, y);
    case Activation::SOFTPLUS:
      return loops.softplus(n, x, y);
    case Activation::ELU:
      loops.exponential(n, F(1), F(1), x, scratch);
      for (size_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? b * x[i] : a * b * (scratch[i] - F(1));
      return;
    case Activation::SWISH:
      loops.sigmoid(n, a, x, scratch);
      return loops.multiply(n, x, scratch, y);
    case Activation::CLIP:
      return loops.clip(n, a, b, x, y);
    case Activation::THRESHOLD:
      for (size_t i = 0; i < n; ++i) y[i] = x[i] > a ? F(1) : F(0);
      return;
    case Activation::CLIPPED_RELU:
      if (b == 0) return loops.clip(n, F(0), a, x, y);
      return loops.clipped_relu(n, a, b, x, y);
    case Activation::HARD_SWISH:
      return loops.hard_swish(n, a, b, x, y);
    case Activation::GELU:
      return loops.gelu(n, x, y);
  }
}

template <typename F>
void PowerGradient(F shift, F scale, F power, size_t n, const F* x, const F* dy, F* dx) {
  const F factor = scale * power;
  if (factor == 0) {
    std::fill_n(dx, n, F(0));
  } else if (power == 1) {
    Loops<F>().affine(n, factor, F(0), dy, dx);
  } else if (power == 2) {
    for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (factor * (shift + scale * x[i]));
  } else {
    for (size_t i = 0; i < n; ++i) {
      dx[i] = dy[i] * (factor * std::pow(shift + scale * x[i], power - 1));
    }
  }
}

template <typename F>
void GradientChunk(const Activation& f, size_t n, const F* v, const F* dy, F* dx) {
  const F a = static_cast<F>(f.a), b = static_cast<F>(f.b), c = static_cast<F>(f.c);
  const ArithmeticLoops<F>& loops = Loops<F>();
  F scratch[kChunk];
  switch (f.kind) {
    case Activation::NONE:
      std::copy_n(dy, dy == dx ? 0 : n, dx);
      return;
    case Activation::RELU:
      return loops.relu_gradient(n, a, v, dy, dx);
    case Activation::PRELU:  // needs the channels: PReluGradient
      return;
    case Activation::ABSOLUTE:
      return loops.absolute_gradient(n, v, dy, dx);
    case Activation::POWER:
      return PowerGradient(a, b, c, n, v, dy, dx);
    case Activation::EXPONENTIAL:
      for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (a * v[i]);
      return;
    case Activation::LOGARITHM:
      for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (b * c / (a + b * v[i]));
      return;
    case Activation::SIGMOID:
      for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (v[i] * (F(1) - v[i]));
      return;
    case Activation::TANH:
      for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (F(1) - v[i] * v[i]);
      return;
    case Activation::SOFTPLUS:
      loops.sigmoid(n, F(1), v, scratch);
      return loops.multiply(n, scratch, dy, dx);
    case Activation::ELU:
      if (f.GradientArgument() == Activation::Argument::OUTPUT) {
        for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (v[i] > 0 ? b : v[i] + a * b);
        return;
      }
      loops.exponential(n, F(1), a * b, v, scratch);
      for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (v[i] > 0 ? b : scratch[i]);
      return;
    case Activation::SWISH:
      loops.sigmoid(n, a, v, scratch);
      for (size_t i = 0; i < n; ++i) {
        const F s = scratch[i];
        dx[i] = dy[i] * (s + a * v[i] * (s * (F(1) - s)));
      }
      return;
    case Activation::CLIP:
      return loops.clip_gradient(n, a, b, v, dy, dx);
    case Activation::THRESHOLD:
      std::fill_n(dx, n, F(0));
      return;
    case Activation::CLIPPED_RELU:
      return loops.clipped_relu_gradient(n, a, b, v, dy, dx);
    case Activation::HARD_SWISH:
      return loops.hard_swish_gradient(n, a, b, v, dy, dx);
    case Activation::GELU:
      return loops.gelu_gradient(n, v, dy, dx);
  }
}

/// `f` with its threshold rounded to T, so that y == threshold can be recognised.
template <typename T>
Activation WithResultsIn(Activation f) {
  if (f.kind == Activation::CLIPPED_RELU) f.a = static_cast<double>(static_cast<T>(f.a));
  return f;
}

}  // namespace

double ValueOf(const Activation& f, double x) {
  const double a = f.a, b = f.b;
  switch (f.kind) {
    case Activation::NONE:
      return x;
    case Activation::RELU:
      return x > 0 ? x : a * x;
    case Activation::PRELU:
      break;
    case Activation::ABSOLUTE:
      return std::fabs(x);
    case Activation::POWER:
      return std::pow(a + b * x, f.c);
    case Activation::EXPONENTIAL:
      return b * std::exp(a * x);
    case Activation::LOGARITHM:
      return f.c * std::log(a + b * x);
    case Activation::SIGMOID:
      return 1 / (1 + std::exp(-x));
    case Activation::TANH:
      return std::tanh(x);
    case Activation::SOFTPLUS:
      return std::max(x, 0.) + std::log1p(std::exp(-std::fabs(x)));
    case Activation::ELU:
      return b * (x > 0 ? x : a * std::expm1(x));
    case Activation::SWISH:
      return x / (1 + std::exp(-a * x));
    case Activation::CLIP:
      return x < a ? a : x > b ? b : x;
    case Activation::THRESHOLD:
      return x > a ? 1 : 0;
    case Activation::CLIPPED_RELU:
      return x < 0 ? b * x : x > a ? a : x;
    case Activation::HARD_SWISH:
      return a * x + b <= 0 ? 0 : a * x + b >= 1 ? x : x * (a * x + b);
    case Activation::GELU:
      return x * 0.5 * std::erfc(-x * std::sqrt(0.5));
  }
  Fail("an activation that needs to know the channel");
}

std::optional<Activation> AsPostOp(const Activation& f) {
  switch (f.kind) {
    case Activation::NONE:
    case Activation::RELU:
    case Activation::CLIP:
    case Activation::PRELU:
    case Activation::ELU:
    case Activation::SIGMOID:
    case Activation::SWISH:
    case Activation::TANH:
    case Activation::HARD_SWISH:
    case Activation::GELU:
      return f;
    case Activation::CLIPPED_RELU:
      if (f.b == 0) return Activation{Activation::CLIP, 0, f.a};
      return {};
    default:
      return {};
  }
}

namespace {

void ReluOfHalves(size_t n, float slope, const float16* x, float16* y) {
  ParallelFor(n, kLoopGrain, [&](size_t begin, size_t end) {
    ChosenKernels().halves.relu(end - begin, slope, BitsOf(x + begin), BitsOf(y + begin));
  });
}

void ReluGradientOfHalves(size_t n, float slope, const float16* x, const float16* dy, float16* dx) {
  ParallelFor(n, kLoopGrain, [&](size_t begin, size_t end) {
    ChosenKernels().halves.relu_gradient(end - begin, slope, BitsOf(x + begin), BitsOf(dy + begin),
                                         BitsOf(dx + begin));
  });
}

}  // namespace

template <typename T>
void Activate(const Activation& function, size_t n, const T* x, T* y) {
  using F = LoopType<T>;
  const Activation f = WithResultsIn<T>(function);
  if constexpr (kAreHalves<T>) {
    if (f.kind == Activation::RELU) return ReluOfHalves(n, static_cast<float>(f.a), x, y);
  }
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in;
    OutputChunk<F, T> out;
    ActivateChunk(f, length, in.Load(x + offset, length), out.Begin(y + offset));
    out.Store(y + offset, length);
  });
}

template <typename T, typename D>
void ActivateGradient(const Activation& function, size_t n, const T* v, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  const Activation f = WithResultsIn<T>(function);
  if constexpr (kAreHalves<T, D>) {
    if (f.kind == Activation::RELU) {
      return ReluGradientOfHalves(n, static_cast<float>(f.a), v, dy, dx);
    }
  }
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> data;
    InputChunk<F, D> diff;
    OutputChunk<F, D> out;
    GradientChunk(f, length, data.Load(v + offset, length), diff.Load(dy + offset, length),
                  out.Begin(dx + offset));
    out.Store(dx + offset, length);
  });
}

namespace {

/// Calls f(slopes, c, offset, length) for pieces of (outer, channels, inner) that fit a chunk.
/// Their elements have slopes of their own, or, where `slopes` is null, that of channel c.
template <typename F, typename Function>
void ForEachChannelChunk(size_t outer, size_t channels, size_t inner, const F* slope,
                         Function&& f) {
  if (inner == 1) {
    // Rows of channels, as many as fit a chunk.
    const size_t together = channels >= kChunk ? 1 : kChunk / std::max<size_t>(1, channels);
    std::vector<F> slopes;
    for (size_t i = 0; i < together; ++i) slopes.insert(slopes.end(), slope, slope + channels);
    const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(channels, 1));
    ParallelFor(outer, grain, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; row += together) {
        const size_t n = std::min(together, end - row) * channels;
        for (size_t i = 0; i < n; i += kChunk) {
          f(slopes.data() + i, size_t(0), row * channels + i, std::min(kChunk, n - i));
        }
      }
    });
    return;
  }
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(inner, 1));
  ParallelFor(outer * channels, grain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < inner; i += kChunk) {
        f(static_cast<const F*>(nullptr), row % channels, row * inner + i,
          std::min(kChunk, inner - i));
      }
    }
  });
}

}  // namespace

template <typename T>
void PRelu(size_t outer, size_t channels, size_t inner, const AccumulatorType<T>* slope, const T* x,
           T* y) {
  using F = LoopType<T>;
  ForEachChannelChunk(
      outer, channels, inner, slope, [&](const F* slopes, size_t c, size_t offset, size_t n) {
        InputChunk<F, T> in;
        OutputChunk<F, T> out;
        const F* from = in.Load(x + offset, n);
        F* to = out.Begin(y + offset);
        slopes ? Loops<F>().prelu(n, slopes, from, to) : Loops<F>().relu(n, slope[c], from, to);
        out.Store(y + offset, n);
      });
}

template <typename T, typename D>
void PReluGradient(size_t outer, size_t channels, size_t inner, const AccumulatorType<D>* slope,
                   const T* x, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  ForEachChannelChunk(outer, channels, inner, slope,
                      [&](const F* slopes, size_t c, size_t offset, size_t n) {
                        InputChunk<F, T> data;
                        InputChunk<F, D> diff;
                        OutputChunk<F, D> out;
                        const F* from = data.Load(x + offset, n);
                        const F* above = diff.Load(dy + offset, n);
                        F* to = out.Begin(dx + offset);
                        slopes ? Loops<F>().prelu_gradient(n, slopes, from, above, to)
                               : Loops<F>().relu_gradient(n, slope[c], from, above, to);
                        out.Store(dx + offset, n);
                      });
}

template <typename T, typename D>
void PReluSlopeGradient(size_t outer, size_t channels, size_t inner, const T* x, const D* dy,
                        double* d_slope) {
  using F = LoopType<T, D>;
  ParallelFor(channels, std::max<size_t>(1, kLoopGrain / std::max<size_t>(outer * inner, 1)),
              [&](size_t begin, size_t end) {
                for (size_t c = begin; c < end; ++c) {
                  double sum = 0;
                  for (size_t n = 0; n < outer; ++n) {
                    const size_t first = (n * channels + c) * inner;
                    for (size_t i = 0; i < inner; i += kChunk) {
                      const size_t length = std::min(kChunk, inner - i);
                      InputChunk<F, T> data;
                      InputChunk<F, D> diff;
                      sum += Loops<F>().negative_dot(length, data.Load(x + first + i, length),
                                                     diff.Load(dy + first + i, length));
                    }
                  }
                  d_slope[c] = sum;
                }
              });
}

#define CAFFE_UNARY(T)                                             \
  template void Activate(const Activation&, size_t, const T*, T*); \
  template void PRelu(size_t, size_t, size_t, const AccumulatorType<T>*, const T*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_UNARY)
#undef CAFFE_UNARY

#define CAFFE_PAIR(T, D)                                                                   \
  template void ActivateGradient(const Activation&, size_t, const T*, const D*, D*);       \
  template void PReluGradient(size_t, size_t, size_t, const AccumulatorType<D>*, const T*, \
                              const D*, D*);                                               \
  template void PReluSlopeGradient(size_t, size_t, size_t, const T*, const D*, double*);
CAFFE_FOR_EACH_PAIR(CAFFE_PAIR)
#undef CAFFE_PAIR

}  // namespace caffe::kernels
