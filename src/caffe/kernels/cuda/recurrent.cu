#include "caffe/kernels/cuda/recurrent.hpp"

#include "launch.hpp"

namespace caffe::cuda {
namespace {

template <typename T>
__host__ __device__ T Sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

}  // namespace

template <typename T>
void LstmStep(Stream& stream, int n, int d, const T* cont, const T* c_prev, T* gates, T* c, T* h) {
  ForEach(stream, n * d, [=] __host__ __device__(int cell) {
    T* gate = gates + cell / d * 4 * d + cell % d;
    const T begun = cont[cell / d];
    const T i = Sigmoid(gate[0]), f = begun == 0 ? T(0) : begun * Sigmoid(gate[d]);
    const T o = Sigmoid(gate[2 * d]), g = tanh(gate[3 * d]);
    const T value = f * c_prev[cell] + i * g;
    gate[0] = i;
    gate[d] = f;
    gate[2 * d] = o;
    gate[3 * d] = g;
    c[cell] = value;
    h[cell] = o * tanh(value);
  });
}

template <typename T>
void LstmStepGradient(Stream& stream, int n, int d, const T* cont, const T* c_prev, const T* gates,
                      const T* c, const T* dh, const T* dc, T bound, T* d_gates, T* dc_prev) {
  ForEach(stream, n * d, [=] __host__ __device__(int cell) {
    const int at = cell / d * 4 * d + cell % d;
    const T i = gates[at], f = gates[at + d], o = gates[at + 2 * d], g = gates[at + 3 * d];
    const T tanh_c = tanh(c[cell]);
    const T total = dc[cell] + dh[cell] * o * (T(1) - tanh_c * tanh_c);
    const T sigmoid_f = f == 0 ? T(0) : f / cont[cell / d];
    T gradient[4] = {total * g * i * (T(1) - i), total * c_prev[cell] * f * (T(1) - sigmoid_f),
                     dh[cell] * tanh_c * o * (T(1) - o), total * i * (T(1) - g * g)};
    for (int k = 0; k < 4; ++k) {
      if (bound > 0) gradient[k] = Max(-bound, Min(gradient[k], bound));
      d_gates[at + k * d] = gradient[k];
    }
    dc_prev[cell] = total * f;
  });
}

template <typename T>
void Tanh(Stream& stream, int n, const T* x, T* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) { y[i] = tanh(x[i]); });
}

template <typename T>
void TanhGradient(Stream& stream, int n, const T* y, const T* dy, T* dx) {
  ForEach(stream, n, [=] __host__ __device__(int i) { dx[i] = dy[i] * (T(1) - y[i] * y[i]); });
}

template <typename T>
void TimesCont(Stream& stream, int n, int d, const T* cont, const T* x, bool add, T* y) {
  ForEach(stream, n * d,
          [=] __host__ __device__(int i) { y[i] = (add ? y[i] : T(0)) + cont[i / d] * x[i]; });
}

template <typename T>
void MakeCont(Stream& stream, int steps, int n, const T* given, T* cont) {
  ForEach(stream, steps * n,
          [=] __host__ __device__(int i) { cont[i] = T(given ? given[i] != 0 : i >= n); });
}

template <typename T>
void SpreadRow(Stream& stream, int rows, int columns, const T* row, bool add, T* y) {
  ForEach(stream, rows * columns,
          [=] __host__ __device__(int i) { y[i] = (add ? y[i] : T(0)) + row[i % columns]; });
}

template <typename T>
void SumOfRows(Stream& stream, int rows, int columns, const T* x, bool add, T* sum) {
  SumRows<T>(
      stream, columns, rows,
      [=] __host__ __device__(int column, int row) { return x[row * columns + column]; },
      [=] __host__ __device__(int column, T total) {
        sum[column] = (add ? sum[column] : T(0)) + total;
      });
}

#define INSTANTIATE(T)                                                                      \
  template void LstmStep(Stream&, int, int, const T*, const T*, T*, T*, T*);                \
  template void LstmStepGradient(Stream&, int, int, const T*, const T*, const T*, const T*, \
                                 const T*, const T*, T, T*, T*);                            \
  template void Tanh(Stream&, int, const T*, T*);                                           \
  template void TanhGradient(Stream&, int, const T*, const T*, T*);                         \
  template void TimesCont(Stream&, int, int, const T*, const T*, bool, T*);                 \
  template void MakeCont(Stream&, int, int, const T*, T*);                                  \
  template void SpreadRow(Stream&, int, int, const T*, bool, T*);                           \
  template void SumOfRows(Stream&, int, int, const T*, bool, T*);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace caffe::cuda
