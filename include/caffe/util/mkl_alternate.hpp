#ifndef CAFFE_UTIL_MKL_ALTERNATE_HPP_
#define CAFFE_UTIL_MKL_ALTERNATE_HPP_

#include <cblas.h>

#include <cmath>

// MKL's vector functions under their names, for code that was written against Caffe's header:
// v<s|d><Function>(n, ...), element by element.

#define CAFFE_VECTOR_UNARY(name, operation)                       \
  inline void vs##name(const int n, const float* a, float* y) {   \
    for (int i = 0; i < n; ++i) y[i] = operation;                 \
  }                                                               \
  inline void vd##name(const int n, const double* a, double* y) { \
    for (int i = 0; i < n; ++i) y[i] = operation;                 \
  }
CAFFE_VECTOR_UNARY(Sqr, a[i] * a[i])
CAFFE_VECTOR_UNARY(Sqrt, std::sqrt(a[i]))
CAFFE_VECTOR_UNARY(Exp, std::exp(a[i]))
CAFFE_VECTOR_UNARY(Ln, std::log(a[i]))
CAFFE_VECTOR_UNARY(Abs, std::fabs(a[i]))
#undef CAFFE_VECTOR_UNARY

#define CAFFE_VECTOR_BINARY(name, operation)                                       \
  inline void vs##name(const int n, const float* a, const float* b, float* y) {    \
    for (int i = 0; i < n; ++i) y[i] = operation;                                  \
  }                                                                                \
  inline void vd##name(const int n, const double* a, const double* b, double* y) { \
    for (int i = 0; i < n; ++i) y[i] = operation;                                  \
  }
CAFFE_VECTOR_BINARY(Add, a[i] + b[i])
CAFFE_VECTOR_BINARY(Sub, a[i] - b[i])
CAFFE_VECTOR_BINARY(Mul, a[i] * b[i])
CAFFE_VECTOR_BINARY(Div, a[i] / b[i])
#undef CAFFE_VECTOR_BINARY

inline void vsPowx(const int n, const float* a, const float b, float* y) {
  for (int i = 0; i < n; ++i) y[i] = std::pow(a[i], b);
}
inline void vdPowx(const int n, const double* a, const double b, double* y) {
  for (int i = 0; i < n; ++i) y[i] = std::pow(a[i], b);
}

#endif  // CAFFE_UTIL_MKL_ALTERNATE_HPP_
