#ifndef CAFFE_KERNELS_CUDA_BLAS_HPP_
#define CAFFE_KERNELS_CUDA_BLAS_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

/// `count` matrices of one shape, `stride` elements apart; stride 0: all the same.
template <typename T>
struct Matrices {
  T* data;
  int row_stride;        ///< elements from one row to the next
  long long stride = 0;  ///< elements from one matrix to the next
};

/// For i in [0, count): C_i = alpha op(A_i) op(B_i) + beta C_i; row-major; op(A) is m x k, op(B)
/// k x n, C m x n; op transposes if asked to. With beta 0, C is not read. By cuBLASLt, on tensor
/// cores where the types allow; sums are float, or double for double. C may be float where A and B
/// are float16; else all three have the same type. Throws Error if cuBLASLt cannot be loaded.
template <typename T, typename C>
void Gemm(Stream& stream, bool transpose_a, bool transpose_b, int m, int n, int k,
          AccumulatorType<C> alpha, Matrices<const T> a, Matrices<const T> b,
          AccumulatorType<C> beta, Matrices<C> c, int count = 1);

/// Gemm of matrices with contiguous rows.
template <typename T, typename C>
void Gemm(Stream& stream, bool transpose_a, bool transpose_b, int m, int n, int k,
          AccumulatorType<C> alpha, const T* a, const T* b, AccumulatorType<C> beta, C* c) {
  Gemm<T, C>(stream, transpose_a, transpose_b, m, n, k, alpha, {a, transpose_a ? m : k},
             {b, transpose_b ? k : n}, beta, {c, n});
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_BLAS_HPP_
