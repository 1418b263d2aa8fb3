#ifndef CAFFE_UTIL_MATH_FUNCTIONS_HPP_
#define CAFFE_UTIL_MATH_FUNCTIONS_HPP_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "caffe/common.hpp"
#include "caffe/util/mkl_alternate.hpp"

namespace caffe {

// Caffe's math functions: for float and double, n elements; y may be one of the inputs.

/// C = alpha op(A) op(B) + beta C; op(A) is M x K, op(B) K x N; row-major, rows one behind another.
template <typename Dtype>
void caffe_cpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C);
/// y = alpha op(A) x + beta y; A is M x N as stored.
template <typename Dtype>
void caffe_cpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y);

/// Y = alpha X + Y.
template <typename Dtype>
void caffe_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y);
/// Y = alpha X + beta Y.
template <typename Dtype>
void caffe_cpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y);
/// In GPU mode each side may be memory of the device.
template <typename Dtype>
void caffe_copy(const int N, const Dtype* X, Dtype* Y);
template <typename Dtype>
void caffe_set(const int N, const Dtype alpha, Dtype* X);
inline void caffe_memset(const size_t N, const int alpha, void* X) { std::memset(X, alpha, N); }

template <typename Dtype>
void caffe_add_scalar(const int N, const Dtype alpha, Dtype* X);
template <typename Dtype>
void caffe_scal(const int N, const Dtype alpha, Dtype* X);
template <typename Dtype>
void caffe_sqr(const int N, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_sqrt(const int N, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_add(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_sub(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_mul(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_div(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_powx(const int n, const Dtype* a, const Dtype b, Dtype* y);
/// y = min(max(a, min), max).
template <typename Dtype>
void caffe_bound(const int n, const Dtype* a, const Dtype min, const Dtype max, Dtype* y);
template <typename Dtype>
void caffe_exp(const int n, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_log(const int n, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_abs(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
Dtype caffe_cpu_dot(const int n, const Dtype* x, const Dtype* y);
template <typename Dtype>
Dtype caffe_cpu_strided_dot(const int n, const Dtype* x, const int incx, const Dtype* y,
                            const int incy);
/// Sum of |x|.
template <typename Dtype>
Dtype caffe_cpu_asum(const int n, const Dtype* x);

/// -1, 0 or 1.
template <typename Dtype>
inline int8_t caffe_sign(Dtype value) {
  return (Dtype(0) < value) - (value < Dtype(0));
}
template <typename Dtype>
void caffe_cpu_sign(const int n, const Dtype* x, Dtype* y);
/// 1 where the sign bit is set.
template <typename Dtype>
void caffe_cpu_sgnbit(const int n, const Dtype* x, Dtype* y);
template <typename Dtype>
void caffe_cpu_fabs(const int n, const Dtype* x, Dtype* y);
/// y = alpha x.
template <typename Dtype>
void caffe_cpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y);

// Random numbers from the calling thread's generator, with Boost's distributions.

/// One draw of the generator, 32 bits.
unsigned int caffe_rng_rand();
/// The next number above b.
template <typename Dtype>
Dtype caffe_nextafter(const Dtype b);
/// Uniform in [a, b].
template <typename Dtype>
void caffe_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r);
template <typename Dtype>
void caffe_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r);
/// 1 with probability p, else 0.
template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, int* r);
template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, unsigned int* r);

#ifndef CPU_ONLY
// The same on memory of the device, for custom layers: started on the calling thread's stream
// and not waited for, except where a result goes to the host. Kernels that a program starts on
// CUDA's default stream come before and after them in the order of the program.

template <typename Dtype>
void caffe_gpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C);
template <typename Dtype>
void caffe_gpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y);
template <typename Dtype>
void caffe_gpu_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y);
template <typename Dtype>
void caffe_gpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y);
/// Between memories of the host and the device, whichever they are; returns when it is done.
void caffe_gpu_memcpy(const size_t N, const void* X, void* Y);
template <typename Dtype>
void caffe_gpu_set(const int N, const Dtype alpha, Dtype* X);
void caffe_gpu_memset(const size_t N, const int alpha, void* X);
template <typename Dtype>
void caffe_gpu_scal(const int N, const Dtype alpha, Dtype* X);
template <typename Dtype>
void caffe_gpu_add_scalar(const int N, const Dtype alpha, Dtype* X);
template <typename Dtype>
void caffe_gpu_add(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_gpu_sub(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_gpu_mul(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_gpu_div(const int N, const Dtype* a, const Dtype* b, Dtype* y);
template <typename Dtype>
void caffe_gpu_abs(const int n, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_gpu_exp(const int n, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_gpu_log(const int n, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_gpu_sqrt(const int n, const Dtype* a, Dtype* y);
template <typename Dtype>
void caffe_gpu_powx(const int n, const Dtype* a, const Dtype b, Dtype* y);
template <typename Dtype>
void caffe_gpu_sign(const int n, const Dtype* x, Dtype* y);
template <typename Dtype>
void caffe_gpu_sgnbit(const int n, const Dtype* x, Dtype* y);
template <typename Dtype>
void caffe_gpu_fabs(const int n, const Dtype* x, Dtype* y);
template <typename Dtype>
void caffe_gpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y);
/// `out` is the host's; waits for the result.
template <typename Dtype>
void caffe_gpu_dot(const int n, const Dtype* x, const Dtype* y, Dtype* out);
template <typename Dtype>
void caffe_gpu_asum(const int n, const Dtype* x, Dtype* y);

// Seeded by the calling thread's generator, not the host functions' numbers.
/// All 32 bits random.
void caffe_gpu_rng_uniform(const int n, unsigned int* r);
/// Uniform in (a, b].
template <typename Dtype>
void caffe_gpu_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r);
template <typename Dtype>
void caffe_gpu_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r);
template <typename Dtype>
void caffe_gpu_rng_bernoulli(const int n, const Dtype p, int* r);
#endif  // CPU_ONLY

}  // namespace caffe

#endif  // CAFFE_UTIL_MATH_FUNCTIONS_HPP_
