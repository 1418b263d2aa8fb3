#include "caffe/kernels/normalize.hpp"

#include <cmath>
#include <vector>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

size_t Grain(size_t row) { return std::max<size_t>(1, kLoopGrain / std::max<size_t>(row, 1)); }

/// sum[n, s] = the sum over c of factor[c] z[n, c, s] x[n, c, s], and over s with across_spatial:
/// then sum[n]. No factor means 1.
template <typename F, typename T, typename Z>
std::vector<F> GroupSums(const NormShape& shape, const double* factor, const T* x, const Z* z) {
  const size_t image = shape.channels * shape.spatial;
  std::vector<F> sums(shape.num * (shape.across_spatial ? 1 : shape.spatial));
  const auto factor_of = [&](size_t c) { return factor ? static_cast<F>(factor[c]) : F(1); };
  if (shape.across_spatial) {
    for (size_t n = 0; n < shape.num; ++n) {
      double sum = 0;
      for (size_t c = 0; c < shape.channels; ++c) {
        const size_t row = n * image + c * shape.spatial;
        for (size_t i = 0; i < shape.spatial; i += kChunk) {
          const size_t length = std::min(kChunk, shape.spatial - i);
          InputChunk<F, T> left;
          InputChunk<F, Z> right;
          sum += factor_of(c) * Loops<F>().dot(length, left.Load(x + row + i, length),
                                               right.Load(z + row + i, length));
        }
      }
      sums[n] = static_cast<F>(sum);
    }
    return sums;
  }
  const size_t parts = CeilDiv(shape.spatial, kChunk);
  ParallelFor(shape.num * parts, Grain(std::min(kChunk, shape.spatial) * shape.channels),
              [&](size_t begin, size_t end) {
                for (size_t part = begin; part < end; ++part) {
                  const size_t n = part / parts, i = part % parts * kChunk;
                  const size_t length = std::min(kChunk, shape.spatial - i);
                  F* sum = sums.data() + n * shape.spatial + i;
                  for (size_t c = 0; c < shape.channels; ++c) {
                    const size_t row = n * image + c * shape.spatial + i;
                    InputChunk<F, T> left;
                    InputChunk<F, Z> right;
                    const F* a = left.Load(x + row, length);
                    const F* b = right.Load(z + row, length);
                    const F f = factor_of(c);
                    for (size_t k = 0; k < length; ++k) sum[k] += f * a[k] * b[k];
                  }
                }
              });
  return sums;
}

/// 1 / norm of each group.
template <typename F, typename T>
std::vector<F> InverseNorms(const NormShape& shape, const T* x) {
  std::vector<F> inverse = GroupSums<F>(shape, nullptr, x, x);
  for (F& value : inverse) value = F(1) / std::sqrt(value + static_cast<F>(shape.eps));
  return inverse;
}

/// Calls f(c, group, step, offset, length) for chunks of the rows (n, c): their elements belong to
/// the groups group, group + step, ...
template <typename Function>
void ForEachRowChunk(const NormShape& shape, Function&& f) {
  ParallelFor(shape.num * shape.channels, Grain(shape.spatial), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const size_t n = row / shape.channels, c = row % shape.channels;
      for (size_t i = 0; i < shape.spatial; i += kChunk) {
        const size_t group = shape.across_spatial ? n : n * shape.spatial + i;
        f(c, group, size_t(!shape.across_spatial), row * shape.spatial + i,
          std::min(kChunk, shape.spatial - i));
      }
    }
  });
}

}  // namespace

template <typename T>
void Normalize(const NormShape& shape, const double* scale, const T* x, T* y) {
  using F = LoopType<T>;
  const std::vector<F> inverse = InverseNorms<F>(shape, x);
  ForEachRowChunk(shape, [&](size_t c, size_t group, size_t step, size_t offset, size_t length) {
    InputChunk<F, T> in;
    OutputChunk<F, T> out;
    const F* from = in.Load(x + offset, length);
    F* to = out.Begin(y + offset);
    const F* factor = inverse.data() + group;
    const F s = static_cast<F>(scale[c]);
    if (step == 0) {
      Loops<F>().affine(length, s * *factor, F(0), from, to);
    } else {
      for (size_t i = 0; i < length; ++i) to[i] = from[i] * (s * factor[i]);
    }
    out.Store(y + offset, length);
  });
}

template <typename T, typename D>
void NormalizeGradient(const NormShape& shape, const double* scale, const T* x, const D* dy, D* dx,
                       double* d_scale) {
  using F = LoopType<T, D>;
  const std::vector<F> inverse = InverseNorms<F>(shape, x);
  if (d_scale) {
    const size_t step = !shape.across_spatial;
    ParallelFor(shape.channels, Grain(shape.num * shape.spatial), [&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) {
        d_scale[c] = 0;
        for (size_t n = 0; n < shape.num; ++n) {
          const size_t row = (n * shape.channels + c) * shape.spatial;
          const F* factor = inverse.data() + n * (step ? shape.spatial : 1);
          for (size_t i = 0; i < shape.spatial; ++i) {
            d_scale[c] +=
                static_cast<F>(dy[row + i]) * static_cast<F>(x[row + i]) * factor[i * step];
          }
        }
      }
    });
  }
  if (!dx) return;
  const std::vector<F> dots =
      shape.fixed_norm ? std::vector<F>(inverse.size()) : GroupSums<F>(shape, scale, x, dy);
  ForEachRowChunk(shape, [&](size_t c, size_t group, size_t step, size_t offset, size_t length) {
    InputChunk<F, T> data;
    InputChunk<F, D> diff;
    OutputChunk<F, D> out;
    const F* from = data.Load(x + offset, length);
    const F* above = diff.Load(dy + offset, length);
    F* to = out.Begin(dx + offset);
    const F s = static_cast<F>(scale[c]);
    for (size_t i = 0; i < length; ++i) {
      const F factor = inverse[group + i * step], dot = dots[group + i * step];
      to[i] = factor * (s * above[i] - from[i] * (dot * factor * factor));
    }
    out.Store(dx + offset, length);
  });
}

template <typename T>
void Standardize(size_t rows, size_t length, double eps, const T* x, T* y, double* deviation) {
  using F = LoopType<T>;
  ParallelFor(rows, Grain(length), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const T* from = x + row * length;
      const F mean = static_cast<F>(Sum(length, from) / length);
      F factor = 1;
      if (deviation) {
        double squares = 0;
        for (size_t i = 0; i < length; i += kChunk) {
          const size_t n = std::min(kChunk, length - i);
          InputChunk<F, T> in;
          F centred[kChunk];
          Loops<F>().affine(n, F(1), -mean, in.Load(from + i, n), centred);
          squares += Loops<F>().square_sum(n, centred);
        }
        deviation[row] = std::sqrt(squares / length);
        factor = static_cast<F>(1 / (deviation[row] + eps));
      }
      for (size_t i = 0; i < length; i += kChunk) {
        const size_t n = std::min(kChunk, length - i);
        InputChunk<F, T> in;
        OutputChunk<F, T> out;
        const F* values = in.Load(from + i, n);
        F* to = out.Begin(y + row * length + i);
        // Subtracted first: factor * mean may be far larger than the result.
        for (size_t k = 0; k < n; ++k) to[k] = (values[k] - mean) * factor;
        out.Store(y + row * length + i, n);
      }
    }
  });
}

// With d = x - mean, s the deviation and y = d / (s + eps):
//   dx = (dy - mean(dy) - d mean(dy d) / (s (s + eps))) / (s + eps).
template <typename T, typename D>
void StandardizeGradient(size_t rows, size_t length, double eps, const T* y,
                         const double* deviation, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  ParallelFor(rows, Grain(length), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const size_t first = row * length;
      const F mean = static_cast<F>(Sum(length, dy + first) / length);
      F factor = 1, slope = 0;
      if (deviation) {
        double dot = 0;
        for (size_t i = first; i < first + length; ++i) {
          dot += double(static_cast<F>(y[i])) * static_cast<F>(dy[i]);
        }
        const double s = deviation[row];
        factor = static_cast<F>(1 / (s + eps));
        slope = s > 0 ? static_cast<F>(dot / length * ((s + eps) / s)) : F(0);
      }
      for (size_t i = first; i < first + length; ++i) {
        const F value = deviation ? static_cast<F>(y[i]) : F(0);
        dx[i] = static_cast<D>((static_cast<F>(dy[i]) - mean - value * slope) * factor);
      }
    }
  });
}

#define CAFFE_UNARY(T)                                                    \
  template void Normalize(const NormShape&, const double*, const T*, T*); \
  template void Standardize(size_t, size_t, double, const T*, T*, double*);
CAFFE_FOR_EACH_FLOAT(CAFFE_UNARY)
#undef CAFFE_UNARY

#define CAFFE_PAIR(T, D)                                                                   \
  template void NormalizeGradient(const NormShape&, const double*, const T*, const D*, D*, \
                                  double*);                                                \
  template void StandardizeGradient(size_t, size_t, double, const T*, const double*, const D*, D*);
CAFFE_FOR_EACH_PAIR(CAFFE_PAIR)
#undef CAFFE_PAIR

}  // namespace caffe::kernels
