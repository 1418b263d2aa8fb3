#include "caffe/util/math_functions.hpp"

#include <algorithm>
#include <boost/random/bernoulli_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_real.hpp>
#include <boost/random/variate_generator.hpp>
#include <limits>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {

template <typename Dtype>
void caffe_cpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C) {
  kernels::Gemm(TransA != CblasNoTrans, TransB != CblasNoTrans, M, N, K, alpha, A, B, beta, C);
}

template <typename Dtype>
void caffe_cpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y) {
  kernels::Gemv(TransA != CblasNoTrans, M, N, alpha, A, x, beta, y);
}

template <typename Dtype>
void caffe_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y) {
  kernels::Axpy(N, alpha, X, Y);
}

template <typename Dtype>
void caffe_cpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y) {
  kernels::Axpby(N, alpha, X, beta, Y);
}

template <typename Dtype>
void caffe_copy(const int N, const Dtype* X, Dtype* Y) {
  if (X == Y) return;
#ifndef CPU_ONLY
  if (Caffe::mode() == Caffe::GPU) return caffe_gpu_memcpy(sizeof(Dtype) * N, X, Y);
#endif
  std::memcpy(Y, X, sizeof(Dtype) * N);
}

template <typename Dtype>
void caffe_set(const int N, const Dtype alpha, Dtype* X) {
  std::fill_n(X, N, alpha);
}

template <typename Dtype>
void caffe_add_scalar(const int N, const Dtype alpha, Dtype* X) {
  kernels::Affine(N, Dtype(1), alpha, X, X);
}

template <typename Dtype>
void caffe_scal(const int N, const Dtype alpha, Dtype* X) {
  kernels::Scal(N, alpha, X);
}

template <typename Dtype>
void caffe_sqr(const int N, const Dtype* a, Dtype* y) {
  kernels::Multiply(N, a, a, y);
}

template <typename Dtype>
void caffe_sqrt(const int N, const Dtype* a, Dtype* y) {
  for (int i = 0; i < N; ++i) y[i] = std::sqrt(a[i]);
}

template <typename Dtype>
void caffe_add(const int N, const Dtype* a, const Dtype* b, Dtype* y) {
  kernels::Add(N, a, b, y);
}

template <typename Dtype>
void caffe_sub(const int N, const Dtype* a, const Dtype* b, Dtype* y) {
  kernels::Subtract(N, a, b, y);
}

template <typename Dtype>
void caffe_mul(const int N, const Dtype* a, const Dtype* b, Dtype* y) {
  kernels::Multiply(N, a, b, y);
}

template <typename Dtype>
void caffe_div(const int N, const Dtype* a, const Dtype* b, Dtype* y) {
  kernels::Divide(N, a, b, y);
}

template <typename Dtype>
void caffe_powx(const int n, const Dtype* a, const Dtype b, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = std::pow(a[i], b);
}

template <typename Dtype>
void caffe_bound(const int n, const Dtype* a, const Dtype min, const Dtype max, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = std::min(std::max(a[i], min), max);
}

template <typename Dtype>
void caffe_exp(const int n, const Dtype* a, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = std::exp(a[i]);
}

template <typename Dtype>
void caffe_log(const int n, const Dtype* a, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = std::log(a[i]);
}

template <typename Dtype>
void caffe_abs(const int n, const Dtype* a, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = std::fabs(a[i]);
}

template <typename Dtype>
Dtype caffe_cpu_dot(const int n, const Dtype* x, const Dtype* y) {
  return static_cast<Dtype>(kernels::Dot(n, x, y));
}

template <typename Dtype>
Dtype caffe_cpu_strided_dot(const int n, const Dtype* x, const int incx, const Dtype* y,
                            const int incy) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(x[i * ptrdiff_t(incx)]) * y[i * ptrdiff_t(incy)];
  return static_cast<Dtype>(sum);
}

template <typename Dtype>
Dtype caffe_cpu_asum(const int n, const Dtype* x) {
  return static_cast<Dtype>(kernels::Asum(n, x));
}

template <typename Dtype>
void caffe_cpu_sign(const int n, const Dtype* x, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = caffe_sign(x[i]);
}

template <typename Dtype>
void caffe_cpu_sgnbit(const int n, const Dtype* x, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = std::signbit(x[i]);
}

template <typename Dtype>
void caffe_cpu_fabs(const int n, const Dtype* x, Dtype* y) {
  caffe_abs(n, x, y);
}

template <typename Dtype>
void caffe_cpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y) {
  kernels::Affine(n, alpha, Dtype(0), x, y);
}

unsigned int caffe_rng_rand() { return (*caffe_rng())(); }

template <typename Dtype>
Dtype caffe_nextafter(const Dtype b) {
  return std::nextafter(b, std::numeric_limits<Dtype>::max());
}

namespace {

/// n draws of `distribution` as Out. The distribution is constructed for each call, as in Caffe:
/// one that keeps a second value from a pair of draws does not carry it over.
template <typename Distribution, typename Out>
void Fill(const int n, const Distribution& distribution, Out* r) {
  boost::variate_generator<rng_t*, Distribution> draw(caffe_rng(), distribution);
  for (int i = 0; i < n; ++i) r[i] = static_cast<Out>(draw());
}

}  // namespace

float RandomUniform(float lower, float upper) {
  float x;
  caffe_rng_uniform(1, lower, upper, &x);
  return x;
}

template <typename Dtype>
void caffe_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r) {
  Require(a <= b, "a uniform distribution needs min <= max, got ", a, " and ", b);
  Fill(n, boost::uniform_real<Dtype>(a, caffe_nextafter(b)), r);
}

template <typename Dtype>
void caffe_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r) {
  Require(sigma > 0, "a gaussian distribution needs a positive std, got ", sigma);
  Fill(n, boost::normal_distribution<Dtype>(mu, sigma), r);
}

template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, int* r) {
  Require(p >= 0 && p <= 1, "a probability lies between 0 and 1, got ", p);
  Fill(n, boost::bernoulli_distribution<Dtype>(p), r);
}

template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, unsigned int* r) {
  Require(p >= 0 && p <= 1, "a probability lies between 0 and 1, got ", p);
  Fill(n, boost::bernoulli_distribution<Dtype>(p), r);
}

#define CAFFE_MATH_FUNCTIONS(Dtype)                                                                \
  template void caffe_cpu_gemm(const CBLAS_TRANSPOSE, const CBLAS_TRANSPOSE, const int, const int, \
                               const int, const Dtype, const Dtype*, const Dtype*, const Dtype,    \
                               Dtype*);                                                            \
  template void caffe_cpu_gemv(const CBLAS_TRANSPOSE, const int, const int, const Dtype,           \
                               const Dtype*, const Dtype*, const Dtype, Dtype*);                   \
  template void caffe_axpy(const int, const Dtype, const Dtype*, Dtype*);                          \
  template void caffe_cpu_axpby(const int, const Dtype, const Dtype*, const Dtype, Dtype*);        \
  template void caffe_add_scalar(const int, const Dtype, Dtype*);                                  \
  template void caffe_scal(const int, const Dtype, Dtype*);                                        \
  template void caffe_sqr(const int, const Dtype*, Dtype*);                                        \
  template void caffe_sqrt(const int, const Dtype*, Dtype*);                                       \
  template void caffe_add(const int, const Dtype*, const Dtype*, Dtype*);                          \
  template void caffe_sub(const int, const Dtype*, const Dtype*, Dtype*);                          \
  template void caffe_mul(const int, const Dtype*, const Dtype*, Dtype*);                          \
  template void caffe_div(const int, const Dtype*, const Dtype*, Dtype*);                          \
  template void caffe_powx(const int, const Dtype*, const Dtype, Dtype*);                          \
  template void caffe_bound(const int, const Dtype*, const Dtype, const Dtype, Dtype*);            \
  template void caffe_exp(const int, const Dtype*, Dtype*);                                        \
  template void caffe_log(const int, const Dtype*, Dtype*);                                        \
  template void caffe_abs(const int, const Dtype*, Dtype*);                                        \
  template Dtype caffe_cpu_dot(const int, const Dtype*, const Dtype*);                             \
  template Dtype caffe_cpu_strided_dot(const int, const Dtype*, const int, const Dtype*,           \
                                       const int);                                                 \
  template Dtype caffe_cpu_asum(const int, const Dtype*);                                          \
  template void caffe_cpu_sign(const int, const Dtype*, Dtype*);                                   \
  template void caffe_cpu_sgnbit(const int, const Dtype*, Dtype*);                                 \
  template void caffe_cpu_fabs(const int, const Dtype*, Dtype*);                                   \
  template void caffe_cpu_scale(const int, const Dtype, const Dtype*, Dtype*);                     \
  template Dtype caffe_nextafter(const Dtype);                                                     \
  template void caffe_rng_uniform(const int, const Dtype, const Dtype, Dtype*);                    \
  template void caffe_rng_gaussian(const int, const Dtype, const Dtype, Dtype*);                   \
  template void caffe_rng_bernoulli(const int, const Dtype, int*);                                 \
  template void caffe_rng_bernoulli(const int, const Dtype, unsigned int*)
CAFFE_MATH_FUNCTIONS(float);
CAFFE_MATH_FUNCTIONS(double);
#undef CAFFE_MATH_FUNCTIONS

#define CAFFE_COPY_AND_SET(T)                        \
  template void caffe_copy(const int, const T*, T*); \
  template void caffe_set(const int, const T, T*)
CAFFE_COPY_AND_SET(float);
CAFFE_COPY_AND_SET(double);
CAFFE_COPY_AND_SET(int);
CAFFE_COPY_AND_SET(unsigned int);
#undef CAFFE_COPY_AND_SET

}  // namespace caffe
