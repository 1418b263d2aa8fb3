#include "caffe/kernels/lrn.hpp"

#include <cmath>
#include <vector>

#include "chunks.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Sums over windows of `size` along an axis of `length` elements `stride` apart, for `inner`
/// neighbouring columns at once: sums[i] = x[i - size / 2] + ... + x[i + size / 2].
template <typename F>
void WindowSums(int length, size_t stride, size_t inner, int size, const F* x, F* sums) {
  const int half = size / 2;
  for (int i = 0; i < length; ++i) {
    F* row = sums + i * stride;
    std::fill_n(row, inner, F(0));
    for (int j = std::max(0, i - half); j <= std::min(length - 1, i + half); ++j) {
      const F* other = x + j * stride;
      for (size_t k = 0; k < inner; ++k) row[k] += other[k];
    }
  }
}

/// Sums over the window around each element of one image.
template <typename F>
void Neighbourhood(const LrnShape& s, const F* x, F* scratch, F* sums) {
  const size_t plane = size_t(s.height) * s.width;
  if (!s.within_channel) {
    WindowSums(s.channels, plane, plane, s.size, x, sums);
    return;
  }
  for (int c = 0; c < s.channels; ++c) {
    WindowSums(s.height, s.width, s.width, s.size, x + c * plane, scratch + c * plane);
    for (int h = 0; h < s.height; ++h) {
      const size_t row = c * plane + size_t(h) * s.width;
      WindowSums(s.width, 1, 1, s.size, scratch + row, sums + row);
    }
  }
}

/// What the sum of squares is multiplied by.
double Factor(const LrnShape& s) {
  return s.alpha / (s.within_channel ? double(s.size) * s.size : double(s.size));
}

/// x^-beta, with square roots for the exponent that everybody uses.
template <typename F>
F NegativePower(F x, F beta) {
  if (beta == F(0.75)) {
    const F root = std::sqrt(x);
    return 1 / (root * std::sqrt(root));
  }
  return std::pow(x, -beta);
}

/// Buffers for one image.
template <typename F>
struct Buffers {
  explicit Buffers(size_t n) : x(n), products(n), scratch(n), sums(n) {}
  std::vector<F> x, products, scratch, sums;
};

/// b.x = x as F, b.sums = s for one image.
template <typename F, typename T>
void ComputeScales(const LrnShape& s, size_t n, const T* x, Buffers<F>* b) {
  Convert(n, x, b->x.data());
  for (size_t i = 0; i < n; ++i) b->products[i] = b->x[i] * b->x[i];
  Neighbourhood(s, b->products.data(), b->scratch.data(), b->sums.data());
  const F factor = static_cast<F>(Factor(s)), k = static_cast<F>(s.k);
  for (size_t i = 0; i < n; ++i) b->sums[i] = k + factor * b->sums[i];
}

}  // namespace

template <typename T>
void LrnForward(const LrnShape& s, const T* x, T* y) {
  using F = AccumulatorType<T>;
  const size_t n = size_t(s.channels) * s.height * s.width;
  const F beta = static_cast<F>(s.beta);
  ParallelFor(s.num, 1, [&](size_t begin, size_t end) {
    Buffers<F> b(n);
    for (size_t image = begin; image < end; ++image) {
      ComputeScales(s, n, x + image * n, &b);
      for (size_t i = 0; i < n; ++i) b.x[i] *= NegativePower(b.sums[i], beta);
      Convert(n, b.x.data(), y + image * n);
    }
  });
}

template <typename T, typename D>
void LrnBackward(const LrnShape& s, const T* x, const D* dy, D* dx) {
  using F = AccumulatorType<D>;
  const size_t n = size_t(s.channels) * s.height * s.width;
  const F beta = static_cast<F>(s.beta);
  const F factor = static_cast<F>(2 * s.beta * Factor(s));
  ParallelFor(s.num, 1, [&](size_t begin, size_t end) {
    Buffers<F> b(n);
    std::vector<F> gradient(n), result(n);
    for (size_t image = begin; image < end; ++image) {
      ComputeScales(s, n, x + image * n, &b);
      Convert(n, dy + image * n, gradient.data());
      for (size_t i = 0; i < n; ++i) {
        const F power = NegativePower(b.sums[i], beta);
        result[i] = gradient[i] * power;
        b.products[i] = result[i] * b.x[i] / b.sums[i];
      }
      Neighbourhood(s, b.products.data(), b.scratch.data(), b.sums.data());
      for (size_t i = 0; i < n; ++i) result[i] -= factor * b.x[i] * b.sums[i];
      Convert(n, result.data(), dx + image * n);
    }
  });
}

#define CAFFE_LRN(T, D) template void LrnBackward(const LrnShape&, const T*, const D*, D*)
CAFFE_LRN(double, double);
CAFFE_LRN(float, float);
CAFFE_LRN(float, float16);
CAFFE_LRN(float16, float);
CAFFE_LRN(float16, float16);
#undef CAFFE_LRN
template void LrnForward(const LrnShape&, const float*, float*);
template void LrnForward(const LrnShape&, const double*, double*);
template void LrnForward(const LrnShape&, const float16*, float16*);

}  // namespace kernels
}  // namespace caffe
