#include "caffe/kernels/lstm.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kCellGrain = 512;  // cells below which a step stays on one thread

template <typename T>
T Sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// Calls f(sequence, cell, index of the cell, index of its input gate) for all cells.
template <typename Function>
void ForEachCell(size_t n, size_t d, Function&& f) {
  ParallelFor(n * d, kCellGrain, [&](size_t begin, size_t end) {
    for (size_t cell = begin; cell < end; ++cell) {
      f(cell / d, cell, cell / d * 4 * d + cell % d);
    }
  });
}

}  // namespace

template <typename T>
void LstmStep(size_t n, size_t d, const T* cont, const T* c_prev, T* gates, T* c, T* h) {
  ForEachCell(n, d, [&](size_t sequence, size_t cell, size_t gate) {
    T& i = gates[gate];
    T& f = gates[gate + d];
    T& o = gates[gate + 2 * d];
    T& g = gates[gate + 3 * d];
    i = Sigmoid(i);
    f = cont[sequence] == 0 ? T(0) : cont[sequence] * Sigmoid(f);
    o = Sigmoid(o);
    g = std::tanh(g);
    c[cell] = f * c_prev[cell] + i * g;
    h[cell] = o * std::tanh(c[cell]);
  });
}

template <typename T>
void LstmStepGradient(size_t n, size_t d, const T* cont, const T* c_prev, const T* gates,
                      const T* c, const T* dh, const T* dc, T* d_gates, T* dc_prev) {
  ForEachCell(n, d, [&](size_t sequence, size_t cell, size_t gate) {
    const T i = gates[gate];
    const T f = gates[gate + d];
    const T o = gates[gate + 2 * d];
    const T g = gates[gate + 3 * d];
    const T tanh_c = std::tanh(c[cell]);
    const T total = dc[cell] + dh[cell] * o * (1 - tanh_c * tanh_c);
    const T sigmoid_f = f == 0 ? T(0) : f / cont[sequence];
    d_gates[gate] = total * g * i * (1 - i);
    d_gates[gate + d] = total * c_prev[cell] * f * (1 - sigmoid_f);
    d_gates[gate + 2 * d] = dh[cell] * tanh_c * o * (1 - o);
    d_gates[gate + 3 * d] = total * i * (1 - g * g);
    dc_prev[cell] = total * f;
  });
}

#define CAFFE_LSTM(T)                                                                              \
  template void LstmStep(size_t, size_t, const T*, const T*, T*, T*, T*);                          \
  template void LstmStepGradient(size_t, size_t, const T*, const T*, const T*, const T*, const T*, \
                                 const T*, T*, T*)
CAFFE_LSTM(float);
CAFFE_LSTM(double);
#undef CAFFE_LSTM

}  // namespace caffe::kernels
