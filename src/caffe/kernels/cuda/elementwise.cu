#include "caffe/kernels/cuda/elementwise.hpp"

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/instances.hpp"
#include "map.hpp"

namespace caffe::cuda {
namespace {

/// The sum of term(i) for i in [0, n) into *sum: in two steps, to use the whole GPU.
template <typename Term>
void SumAll(Stream& stream, int n, Term term, double* sum) {
  constexpr int kRows = 512;
  const int columns = (n + kRows - 1) / kRows;
  Buffer<double> partial(stream, kRows);
  double* parts = partial.get();
  SumRows<double>(
      stream, kRows, columns,
      [=] __host__ __device__(int row, int column) {
        const long long i = static_cast<long long>(row) * columns + column;
        return i < n ? static_cast<double>(term(static_cast<int>(i))) : 0.;
      },
      [=] __host__ __device__(int row, double value) { parts[row] = value; });
  SumRows<double>(
      stream, 1, kRows, [=] __host__ __device__(int, int column) { return parts[column]; },
      [=] __host__ __device__(int, double value) { *sum = value; });
}

}  // namespace

template <typename X, typename Y>
void Convert(Stream& stream, int n, const X* x, Y* y) {
  Map(stream, n, x, y, [] __host__ __device__(Math<X> value) { return value; });
}

void Convert(Stream& stream, int n, ElementType from, const void* x, ElementType to, void* y) {
  Dispatch(from, [&](auto from_tag) {
    Dispatch(to, [&](auto to_tag) {
      using X = decltype(from_tag);
      using Y = decltype(to_tag);
      Convert(stream, n, static_cast<const X*>(x), static_cast<Y*>(y));
    });
  });
}

template <typename T>
void Fill(Stream& stream, int n, AccumulatorType<T> value, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { Store(y + i, value); });
}

template <typename X, typename Y>
void Axpby(Stream& stream, int n, AccumulatorType<Y> a, const X* x, AccumulatorType<Y> b, Y* y) {
  if (b == 0) {
    Map(stream, n, x, y, [=] __host__ __device__(Math<X> value) { return a * value; });
  } else {
    Map(stream, n, x, static_cast<const Y*>(y), y,
        [=] __host__ __device__(Math<X> value, Math<Y> before) { return a * value + b * before; });
  }
}

template <typename T>
void Scale(Stream& stream, int n, AccumulatorType<T> a, const T* x, T* y) {
  Map(stream, n, x, y, [=] __host__ __device__(Math<T> value) { return a * value; });
}

template <typename T>
void Asum(Stream& stream, int n, const T* x, double* sum) {
  SumAll(
      stream, n,
      [=] __host__ __device__(int i) {
        const double value = Load(x + i);
        return value < 0 ? -value : value;
      },
      sum);
}

template <typename T>
void Sumsq(Stream& stream, int n, const T* x, double* sum) {
  SumAll(
      stream, n,
      [=] __host__ __device__(int i) {
        const double value = Load(x + i);
        return value * value;
      },
      sum);
}

template <typename T>
void Dot(Stream& stream, int n, const T* x, const T* z, double* sum) {
  SumAll(
      stream, n,
      [=] __host__ __device__(int i) {
        return static_cast<double>(Load(x + i)) * static_cast<double>(Load(z + i));
      },
      sum);
}

#define INSTANTIATE_PAIR(X, Y)                       \
  template void Convert(Stream&, int, const X*, Y*); \
  template void Axpby(Stream&, int, AccumulatorType<Y>, const X*, AccumulatorType<Y>, Y*);
#define INSTANTIATE(T)                                                 \
  INSTANTIATE_PAIR(T, float)                                           \
  INSTANTIATE_PAIR(T, double)                                          \
  INSTANTIATE_PAIR(T, float16)                                         \
  template void Fill(Stream&, int, AccumulatorType<T>, T*);            \
  template void Scale(Stream&, int, AccumulatorType<T>, const T*, T*); \
  template void Asum(Stream&, int, const T*, double*);                 \
  template void Sumsq(Stream&, int, const T*, double*);                \
  template void Dot(Stream&, int, const T*, const T*, double*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)

}  // namespace caffe::cuda
