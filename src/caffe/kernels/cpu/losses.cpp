#include "caffe/kernels/losses.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

/// The sum of f(offset, length) over the chunks of [0, n), always in the same order.
template <typename Function>
double SumOfChunks(size_t n, const Function& f) {
  std::vector<double> sums(CeilDiv(n, kChunk), 0.);
  ParallelFor(sums.size(), kLoopGrain / kChunk, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) sums[i] = f(i * kChunk, std::min(kChunk, n - i * kChunk));
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

/// Calls f(i) for the targets that do not count.
template <typename T, typename Function>
void ForEachIgnored(size_t n, const T* t, const T* ignored, const Function& f) {
  for (size_t i = 0; i < n && ignored; ++i) {
    if (std::trunc(t[i]) == *ignored) f(i);
  }
}

}  // namespace

// max(x, 0) - x t + log(1 + e^-|x|): no probability vanishes.
template <typename T>
LossSum SigmoidCrossEntropy(size_t n, const T* x, const T* t, const T* ignored) {
  const ArithmeticLoops<T>& loops = Loops<T>();
  LossSum result;
  result.loss = SumOfChunks(n, [&](size_t offset, size_t length) {
    T terms[kChunk], part[kChunk];
    const T *logits = x + offset, *targets = t + offset;
    loops.relu(length, T(0), logits, part);
    loops.multiply(length, logits, targets, terms);
    loops.subtract(length, part, terms, terms);
    for (size_t i = 0; i < length; ++i) part[i] = -std::fabs(logits[i]);
    loops.softplus(length, part, part);
    loops.add(length, terms, part, terms);
    ForEachIgnored(length, targets, ignored, [&](size_t i) { terms[i] = 0; });
    return loops.sum(length, terms);
  });
  result.counted = n;
  ForEachIgnored(n, t, ignored, [&](size_t) { --result.counted; });
  return result;
}

template <typename T>
void SigmoidCrossEntropyGradient(size_t n, T weight, const T* x, const T* t, const T* ignored,
                                 T* dx) {
  const ArithmeticLoops<T>& loops = Loops<T>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    T p[kChunk];
    loops.sigmoid(length, T(1), x + offset, p);
    loops.subtract(length, p, t + offset, p);
    loops.affine(length, weight, T(0), p, dx + offset);
    ForEachIgnored(length, t + offset, ignored, [&](size_t i) { dx[offset + i] = 0; });
  });
}

template <typename T>
double SmoothL1(size_t n, T sigma2, const T* d, const T* weights) {
  const ArithmeticLoops<T>& loops = Loops<T>();
  return SumOfChunks(n, [&](size_t offset, size_t length) {
    T penalties[kChunk];
    loops.smooth_l1(length, sigma2, d + offset, penalties);
    return weights ? loops.dot(length, penalties, weights + offset) : loops.sum(length, penalties);
  });
}

template <typename T>
void SmoothL1Penalties(size_t n, T sigma2, const T* d, T* y) {
  ForEachChunk(n, [&](size_t offset, size_t length) {
    Loops<T>().smooth_l1(length, sigma2, d + offset, y + offset);
  });
}

template <typename T>
void SmoothL1Gradient(size_t n, T sigma2, const T* d, T* slope) {
  ForEachChunk(n, [&](size_t offset, size_t length) {
    Loops<T>().smooth_l1_gradient(length, sigma2, d + offset, slope + offset);
  });
}

template <typename D>
void SoftmaxLossGradient(size_t outer, size_t classes, size_t inner, double smoothing,
                         const int* labels, const AccumulatorType<D>* factors,
                         const AccumulatorType<D>* p, D* dx) {
  using F = AccumulatorType<D>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  const F other = static_cast<F>(smoothing / classes);
  const F label_target = static_cast<F>(1 - smoothing + smoothing / classes);
  const auto labelled = [&](size_t item, size_t at) {
    if (labels[item] >= 0) dx[at] = static_cast<D>(factors[item] * (p[at] - label_target));
  };
  if (inner == 1) {
    const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, classes));
    ParallelFor(outer, grain, [&](size_t begin, size_t end) {
      for (size_t item = begin; item < end; ++item) {
        const size_t row = item * classes;
        for (size_t c = 0; c < classes; c += kChunk) {
          const size_t length = std::min(kChunk, classes - c);
          OutputChunk<F, D> out;
          F* to = out.Begin(dx + row + c);
          if (labels[item] < 0) {
            std::fill_n(to, length, F(0));
          } else {
            loops.affine(length, F(1), -other, p + row + c, to);
            loops.affine(length, factors[item], F(0), to, to);
          }
          out.Store(dx + row + c, length);
        }
        labelled(item, row + std::max(labels[item], 0));
      }
    });
    return;
  }
  const size_t pieces = CeilDiv(inner, kChunk);
  const size_t numbers = std::min(inner, kChunk) * classes;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, numbers));
  ParallelFor(outer * pieces, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t item = i / pieces * inner + i % pieces * kChunk;
      const size_t length = std::min(kChunk, inner - i % pieces * kChunk);
      F gates[kChunk];
      for (size_t k = 0; k < length; ++k) gates[k] = F(labels[item + k] >= 0);
      for (size_t c = 0; c < classes; ++c) {
        const size_t at = (i / pieces * classes + c) * inner + i % pieces * kChunk;
        OutputChunk<F, D> out;
        F* to = out.Begin(dx + at);
        loops.affine(length, F(1), -other, p + at, to);
        loops.multiply(length, factors + item, to, to);
        loops.gate(length, gates, to, to);  // a NaN does not count either
        out.Store(dx + at, length);
      }
      for (size_t k = 0; k < length; ++k) {
        const size_t label = std::max(labels[item + k], 0);
        labelled(item + k, (i / pieces * classes + label) * inner + i % pieces * kChunk + k);
      }
    }
  });
}

#define CAFFE_LOSSES(T)                                                                   \
  template LossSum SigmoidCrossEntropy(size_t, const T*, const T*, const T*);             \
  template void SigmoidCrossEntropyGradient(size_t, T, const T*, const T*, const T*, T*); \
  template double SmoothL1(size_t, T, const T*, const T*);                                \
  template void SmoothL1Penalties(size_t, T, const T*, T*);                               \
  template void SmoothL1Gradient(size_t, T, const T*, T*)
CAFFE_LOSSES(float);
CAFFE_LOSSES(double);
#undef CAFFE_LOSSES

#define CAFFE_SOFTMAX_LOSS(D)                                                   \
  template void SoftmaxLossGradient(size_t, size_t, size_t, double, const int*, \
                                    const AccumulatorType<D>*, const AccumulatorType<D>*, D*);
CAFFE_FOR_EACH_FLOAT(CAFFE_SOFTMAX_LOSS)
#undef CAFFE_SOFTMAX_LOSS

}  // namespace caffe::kernels
