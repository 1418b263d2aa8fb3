#include "caffe/kernels/softmax.hpp"

#include <cmath>
#include <vector>

#include "chunks.hpp"
#include "vector_kernels.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Calls f(index of the first channel's element, o * inner + i) for each of the outer x inner
/// columns of channels.
template <typename Function>
void ForEachColumn(size_t outer, size_t channels, size_t inner, Function&& f) {
  const size_t grain = std::max<size_t>(1, (kLoopGrain / 16) / std::max<size_t>(1, channels));
  ParallelFor(outer * inner, grain, [&](size_t begin, size_t end) {
    for (size_t column = begin; column < end; ++column) {
      f(column / inner * channels * inner + column % inner, column);
    }
  });
}

template <typename F, typename T>
F Largest(const T* x, size_t channels, size_t inner) {
  F largest = static_cast<F>(x[0]);
  for (size_t c = 1; c < channels; ++c) {
    largest = std::max(largest, static_cast<F>(x[c * inner]));
  }
  return largest;
}

/// Softmax of rows that lie together, vectorised.
template <typename X, typename Y>
void SoftmaxOfRows(size_t rows, size_t channels, const X* x, Y* y) {
  using F = LoopType<X, Y>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  const size_t grain = std::max<size_t>(1, (kLoopGrain / 16) / std::max<size_t>(1, channels));
  ParallelFor(rows, grain, [&](size_t begin, size_t end) {
    std::vector<F> row(channels);
    for (size_t first = begin * channels; first < end * channels; first += channels) {
      Convert(channels, x + first, row.data());
      const F largest = Largest<F>(row.data(), channels, 1);
      loops.affine(channels, F(1), -largest, row.data(), row.data());
      loops.exponential(channels, F(1), F(1), row.data(), row.data());
      const F sum = static_cast<F>(loops.sum(channels, row.data()));
      for (F& value : row) value /= sum;
      Convert(channels, row.data(), y + first);
    }
  });
}

}  // namespace

template <typename X, typename Y>
void Softmax(size_t outer, size_t channels, size_t inner, const X* x, Y* y) {
  using F = LoopType<X, Y>;
  if (inner == 1 && channels > 0) return SoftmaxOfRows(outer, channels, x, y);
  ForEachColumn(outer, channels, inner, [&](size_t first, size_t) {
    const F largest = Largest<F>(x + first, channels, inner);
    F sum = 0;
    for (size_t c = 0; c < channels; ++c) {
      sum += std::exp(static_cast<F>(x[first + c * inner]) - largest);
    }
    for (size_t c = 0; c < channels; ++c) {
      const size_t i = first + c * inner;
      y[i] = static_cast<Y>(std::exp(static_cast<F>(x[i]) - largest) / sum);
    }
  });
}

template <typename T, typename D>
void SoftmaxGradient(size_t outer, size_t channels, size_t inner, const T* y, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  ForEachColumn(outer, channels, inner, [&](size_t first, size_t) {
    F dot = 0;
    for (size_t c = 0; c < channels; ++c) {
      dot += static_cast<F>(y[first + c * inner]) * static_cast<F>(dy[first + c * inner]);
    }
    for (size_t c = 0; c < channels; ++c) {
      const size_t i = first + c * inner;
      dx[i] = static_cast<D>(static_cast<F>(y[i]) * (static_cast<F>(dy[i]) - dot));
    }
  });
}

template <typename T>
void LogSumExp(size_t outer, size_t channels, size_t inner, const T* x,
               AccumulatorType<T>* log_sum) {
  using F = AccumulatorType<T>;
  ForEachColumn(outer, channels, inner, [&](size_t first, size_t column) {
    const F largest = Largest<F>(x + first, channels, inner);
    F sum = 0;
    for (size_t c = 0; c < channels; ++c) {
      sum += std::exp(static_cast<F>(x[first + c * inner]) - largest);
    }
    log_sum[column] = largest + std::log(sum);
  });
}

#define CAFFE_SOFTMAX(T, D)                                    \
  template void Softmax(size_t, size_t, size_t, const T*, D*); \
  template void SoftmaxGradient(size_t, size_t, size_t, const T*, const D*, D*)
CAFFE_SOFTMAX(double, double);
CAFFE_SOFTMAX(float, float);
CAFFE_SOFTMAX(float, float16);
CAFFE_SOFTMAX(float16, float);
CAFFE_SOFTMAX(float16, float16);
#undef CAFFE_SOFTMAX

template void LogSumExp(size_t, size_t, size_t, const float*, float*);
template void LogSumExp(size_t, size_t, size_t, const double*, double*);
template void LogSumExp(size_t, size_t, size_t, const float16*, float*);

}  // namespace kernels
}  // namespace caffe
