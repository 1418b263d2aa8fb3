// Caffe's math functions on the device, for people's own layers.
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/vector_math.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

using cuda::Binary;
using cuda::CurrentStream;
using cuda::Unary;

namespace {

uint64_t DrawSeed() {
  const uint64_t high = caffe_rng_rand();
  return high << 32 | caffe_rng_rand();
}

/// What f(stream, sum) leaves in a double of the device.
template <typename Function>
double SumOnHost(const Function& f) {
  Stream& stream = CurrentStream();
  const cuda::Buffer<double> sum(stream, 1);
  f(stream, sum.get());
  double result = 0;
  Device::Get().CopyToHost(&result, sum.get(), sizeof(result), stream);
  stream.Synchronize();
  return result;
}

}  // namespace

template <typename Dtype>
void caffe_gpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C) {
  cuda::Gemm<Dtype, Dtype>(CurrentStream(), TransA != CblasNoTrans, TransB != CblasNoTrans, M, N, K,
                           alpha, A, B, beta, C);
}

// A product with a matrix of one column.
template <typename Dtype>
void caffe_gpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y) {
  const bool transposed = TransA != CblasNoTrans;
  cuda::Gemm<Dtype, Dtype>(CurrentStream(), transposed, false, transposed ? N : M, 1,
                           transposed ? M : N, alpha, A, x, beta, y);
}

template <typename Dtype>
void caffe_gpu_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y) {
  cuda::Axpby<Dtype, Dtype>(CurrentStream(), N, alpha, X, Dtype(1), Y);
}
template <typename Dtype>
void caffe_gpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y) {
  cuda::Axpby<Dtype, Dtype>(CurrentStream(), N, alpha, X, beta, Y);
}

void caffe_gpu_memcpy(const size_t N, const void* X, void* Y) {
  if (X != Y) Device::Get().CopyAnywhere(Y, X, N, CurrentStream());
}
void caffe_gpu_memset(const size_t N, const int alpha, void* X) {
  cuda::FillBytes(CurrentStream(), N, static_cast<unsigned char>(alpha), X);
}

template <typename Dtype>
void caffe_gpu_set(const int N, const Dtype alpha, Dtype* X) {
  cuda::Fill<Dtype>(CurrentStream(), N, alpha, X);
}
template <>
void caffe_gpu_set(const int N, const int alpha, int* X) {
  cuda::FillIntegers(CurrentStream(), N, alpha, X);
}
template <>
void caffe_gpu_set(const int N, const unsigned int alpha, unsigned int* X) {
  cuda::FillIntegers(CurrentStream(), N, alpha, X);
}

template <typename Dtype>
void caffe_gpu_scal(const int N, const Dtype alpha, Dtype* X) {
  cuda::Scale<Dtype>(CurrentStream(), N, alpha, X, X);
}
template <typename Dtype>
void caffe_gpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y) {
  cuda::Scale<Dtype>(CurrentStream(), n, alpha, x, y);
}
template <typename Dtype>
void caffe_gpu_add_scalar(const int N, const Dtype alpha, Dtype* X) {
  cuda::AddScalar(CurrentStream(), N, alpha, X, X);
}
template <typename Dtype>
void caffe_gpu_powx(const int n, const Dtype* a, const Dtype b, Dtype* y) {
  cuda::Power(CurrentStream(), n, a, b, y);
}

#define CAFFE_GPU_BINARY(name, function)                                          \
  template <typename Dtype>                                                       \
  void caffe_gpu_##name(const int N, const Dtype* a, const Dtype* b, Dtype* y) {  \
    cuda::Map(CurrentStream(), Binary::function, N, a, b, y);                     \
  }                                                                               \
  template void caffe_gpu_##name<float>(int, const float*, const float*, float*); \
  template void caffe_gpu_##name<double>(int, const double*, const double*, double*)
CAFFE_GPU_BINARY(add, ADD);
CAFFE_GPU_BINARY(sub, SUBTRACT);
CAFFE_GPU_BINARY(mul, MULTIPLY);
CAFFE_GPU_BINARY(div, DIVIDE);
#undef CAFFE_GPU_BINARY

#define CAFFE_GPU_UNARY(name, function)                             \
  template <typename Dtype>                                         \
  void caffe_gpu_##name(const int n, const Dtype* x, Dtype* y) {    \
    cuda::Map(CurrentStream(), Unary::function, n, x, y);           \
  }                                                                 \
  template void caffe_gpu_##name<float>(int, const float*, float*); \
  template void caffe_gpu_##name<double>(int, const double*, double*)
CAFFE_GPU_UNARY(abs, ABSOLUTE);
CAFFE_GPU_UNARY(fabs, ABSOLUTE);
CAFFE_GPU_UNARY(exp, EXPONENTIAL);
CAFFE_GPU_UNARY(log, LOGARITHM);
CAFFE_GPU_UNARY(sqrt, SQUARE_ROOT);
CAFFE_GPU_UNARY(sign, SIGN);
CAFFE_GPU_UNARY(sgnbit, SIGN_BIT);
#undef CAFFE_GPU_UNARY

template <typename Dtype>
void caffe_gpu_dot(const int n, const Dtype* x, const Dtype* y, Dtype* out) {
  *out = static_cast<Dtype>(
      SumOnHost([=](Stream& stream, double* sum) { cuda::Dot(stream, n, x, y, sum); }));
}
template <typename Dtype>
void caffe_gpu_asum(const int n, const Dtype* x, Dtype* y) {
  *y = static_cast<Dtype>(
      SumOnHost([=](Stream& stream, double* sum) { cuda::Asum(stream, n, x, sum); }));
}

void caffe_gpu_rng_uniform(const int n, unsigned int* r) {
  cuda::RandomBits(CurrentStream(), DrawSeed(), n, r);
}
template <typename Dtype>
void caffe_gpu_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r) {
  cuda::RandomUniform(CurrentStream(), DrawSeed(), n, a, b, r);
}
template <typename Dtype>
void caffe_gpu_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r) {
  cuda::RandomGaussian(CurrentStream(), DrawSeed(), n, mu, sigma, r);
}
template <typename Dtype>
void caffe_gpu_rng_bernoulli(const int n, const Dtype p, int* r) {
  cuda::RandomBernoulli(CurrentStream(), DrawSeed(), n, p, r);
}

#define CAFFE_GPU_MATH(T)                                                                       \
  template void caffe_gpu_gemm<T>(CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, T, const T*, \
                                  const T*, T, T*);                                             \
  template void caffe_gpu_gemv<T>(CBLAS_TRANSPOSE, int, int, T, const T*, const T*, T, T*);     \
  template void caffe_gpu_axpy<T>(int, T, const T*, T*);                                        \
  template void caffe_gpu_axpby<T>(int, T, const T*, T, T*);                                    \
  template void caffe_gpu_set<T>(int, T, T*);                                                   \
  template void caffe_gpu_scal<T>(int, T, T*);                                                  \
  template void caffe_gpu_scale<T>(int, T, const T*, T*);                                       \
  template void caffe_gpu_add_scalar<T>(int, T, T*);                                            \
  template void caffe_gpu_powx<T>(int, const T*, T, T*);                                        \
  template void caffe_gpu_dot<T>(int, const T*, const T*, T*);                                  \
  template void caffe_gpu_asum<T>(int, const T*, T*);                                           \
  template void caffe_gpu_rng_uniform<T>(int, T, T, T*);                                        \
  template void caffe_gpu_rng_gaussian<T>(int, T, T, T*);                                       \
  template void caffe_gpu_rng_bernoulli<T>(int, T, int*);
CAFFE_GPU_MATH(float)
CAFFE_GPU_MATH(double)
#undef CAFFE_GPU_MATH

}  // namespace caffe
