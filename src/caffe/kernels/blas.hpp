#ifndef CAFFE_KERNELS_BLAS_HPP_
#define CAFFE_KERNELS_BLAS_HPP_

#include <cstddef>
#include <string>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// Sets the number of threads, for the process, of an OpenBLAS with threads of its own. One that
/// runs on OpenMP, like other libraries, uses those of the calling thread's team.
void SetBlasThreads(int threads);

/// For display: the processor that OpenBLAS has kernels for, "SkylakeX"; "" for another CBLAS.
std::string BlasProcessor();

/// C = alpha op(A) op(B) + beta C, row-major; op(A) is m x k, op(B) k x n, C m x n; op transposes
/// if asked to. lda, ldb, ldc are the distances between rows as stored. With beta 0, C is not read.
///
/// A, B and C may each be float or float16, with float sums, or all be double. 16-bit operands are
/// widened panel by panel into bounded scratch memory.
template <typename A, typename B, typename C>
void Gemm(bool transpose_a, bool transpose_b, int m, int n, int k, AccumulatorType<C> alpha,
          const A* a, int lda, const B* b, int ldb, AccumulatorType<C> beta, C* c, int ldc);

/// Gemm of matrices with contiguous rows.
template <typename A, typename B, typename C>
void Gemm(bool transpose_a, bool transpose_b, int m, int n, int k, AccumulatorType<C> alpha,
          const A* a, const B* b, AccumulatorType<C> beta, C* c) {
  Gemm(transpose_a, transpose_b, m, n, k, alpha, a, transpose_a ? m : k, b, transpose_b ? k : n,
       beta, c, n);
}

/// y = alpha op(A) x + beta y; A is m x n as stored. Types as for Gemm. With beta 0, y is not read.
template <typename A, typename X, typename Y>
void Gemv(bool transpose, int m, int n, AccumulatorType<Y> alpha, const A* a, const X* x,
          AccumulatorType<Y> beta, Y* y);

// Sums of n terms, added up in blocks; the blocks' sums are added in double. T: float, double,
// float16.
template <typename T>
double Sum(size_t n, const T* x);
/// Sum of |x|.
template <typename T>
double Asum(size_t n, const T* x);
/// Sum of x^2.
template <typename T>
double Sumsq(size_t n, const T* x);
/// Sum of x z.
template <typename T>
double Dot(size_t n, const T* x, const T* z);

/// y = a x + y.
template <typename X, typename Y>
void Axpy(size_t n, AccumulatorType<Y> a, const X* x, Y* y);
/// y = a x + b y; with b 0, y is not read.
template <typename X, typename Y>
void Axpby(size_t n, AccumulatorType<Y> a, const X* x, AccumulatorType<Y> b, Y* y);
/// x = a x.
template <typename T>
void Scal(size_t n, AccumulatorType<T> a, T* x);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BLAS_HPP_
