#include "caffe/kernels/cuda/vector_math.hpp"

#include <math.h>

#include <type_traits>

#include "launch.hpp"
#include "philox.hpp"

namespace caffe::cuda {
namespace {

template <typename T>
__host__ __device__ inline bool HasSignBit(T x) {
  return x < 0 || (x == 0 && 1 / x < 0);
}

template <typename T>
__host__ __device__ inline T Value(Unary function, T x) {
  switch (function) {
    case Unary::ABSOLUTE:
      return fabs(x);
    case Unary::EXPONENTIAL:
      return exp(x);
    case Unary::LOGARITHM:
      return log(x);
    case Unary::SQUARE_ROOT:
      return sqrt(x);
    case Unary::SIGN:
      return T((x > 0) - (x < 0));
    case Unary::SIGN_BIT:
      return T(HasSignBit(x));
  }
  return x;
}

template <typename T>
__host__ __device__ inline T Value(Binary function, T a, T b) {
  switch (function) {
    case Binary::ADD:
      return a + b;
    case Binary::SUBTRACT:
      return a - b;
    case Binary::MULTIPLY:
      return a * b;
    case Binary::DIVIDE:
      return a / b;
  }
  return a;
}

/// The words as two numbers in (0, 1].
template <typename T>
__host__ __device__ inline void Units(const RandomWords& words, T* first, T* second) {
  if (std::is_same<T, double>::value) {
    *first = static_cast<T>(UnitDouble(words.word[0], words.word[1]));
    *second = static_cast<T>(UnitDouble(words.word[2], words.word[3]));
  } else {
    *first = static_cast<T>(UnitFloat(words.word[0]));
    *second = static_cast<T>(UnitFloat(words.word[1]));
  }
}

}  // namespace

template <typename T>
void Map(Stream& stream, Unary function, int n, const T* x, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = Value(function, x[i]); });
}

template <typename T>
void Map(Stream& stream, Binary function, int n, const T* a, const T* b, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = Value(function, a[i], b[i]); });
}

template <typename T>
void AddScalar(Stream& stream, int n, T value, const T* x, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = x[i] + value; });
}

template <typename T>
void Power(Stream& stream, int n, const T* x, T exponent, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = pow(x[i], exponent); });
}

void FillBytes(Stream& stream, size_t n, unsigned char value, void* y) {
  constexpr size_t kPiece = size_t(1) << 30;
  for (size_t begin = 0; begin < n; begin += kPiece) {
    unsigned char* piece = static_cast<unsigned char*>(y) + begin;
    ForEach(stream, static_cast<int>(std::min(kPiece, n - begin)),
            [=] __host__ __device__(int i) { piece[i] = value; });
  }
}

template <typename T>
void FillIntegers(Stream& stream, int n, T value, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = value; });
}

void RandomBits(Stream& stream, uint64_t seed, int n, uint32_t* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = Philox(seed, i).word[0]; });
}

template <typename T>
void RandomUniform(Stream& stream, uint64_t seed, int n, T low, T high, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    T unit, unused;
    Units(Philox(seed, i), &unit, &unused);
    y[i] = low + (high - low) * unit;
  });
}

// Box-Muller transform.
template <typename T>
void RandomGaussian(Stream& stream, uint64_t seed, int n, T mean, T deviation, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    T radius, angle;
    Units(Philox(seed, i), &radius, &angle);
    const T unit = sqrt(T(-2) * log(radius)) * cos(T(6.283185307179586) * angle);
    y[i] = mean + deviation * unit;
  });
}

void RandomBernoulli(Stream& stream, uint64_t seed, int n, double probability, int* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    const RandomWords words = Philox(seed, i);
    y[i] = UnitDouble(words.word[0], words.word[1]) <= probability;
  });
}

#define INSTANTIATE(T)                                             \
  template void Map(Stream&, Unary, int, const T*, T*);            \
  template void Map(Stream&, Binary, int, const T*, const T*, T*); \
  template void AddScalar(Stream&, int, T, const T*, T*);          \
  template void Power(Stream&, int, const T*, T, T*);              \
  template void RandomUniform(Stream&, uint64_t, int, T, T, T*);   \
  template void RandomGaussian(Stream&, uint64_t, int, T, T, T*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE
template void FillIntegers(Stream&, int, int, int*);
template void FillIntegers(Stream&, int, unsigned, unsigned*);

}  // namespace caffe::cuda
