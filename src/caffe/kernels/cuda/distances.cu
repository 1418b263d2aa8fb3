#include "caffe/kernels/cuda/distances.hpp"

#include "caffe/cuda/buffer.hpp"
#include "launch.hpp"
#include "numbers.hpp"

namespace caffe::cuda {
namespace {

template <typename T>
__host__ __device__ T SlopeOfDistance(bool squared, T d) {
  return squared ? 2 * d : T(d > 0) - T(d < 0);
}

}  // namespace

template <typename T>
void InnerDistance(Stream& stream, int m, int n, int k, bool squared, const T* x, const T* centers,
                   const T* bias, T* y) {
  SumRows<T>(
      stream, m * n, k,
      [=] __host__ __device__(int i, int at) {
        const T d = x[i / n * k + at] - centers[i % n * k + at];
        return squared ? d * d : d < 0 ? -d : d;
      },
      [=] __host__ __device__(int i, T sum) { y[i] = bias ? sum + bias[i % n] : sum; });
}

template <typename T>
void InnerDistanceGradient(Stream& stream, int m, int n, int k, bool squared, const T* x,
                           const T* centers, const T* dy, T* dx) {
  ForEach(stream, m * k, [=] __host__ __device__(int i) {
    const int row = i / k, at = i % k;
    T sum = 0;
    for (int c = 0; c < n; ++c) {
      sum += dy[row * n + c] * SlopeOfDistance(squared, x[i] - centers[c * k + at]);
    }
    dx[i] = sum;
  });
}

template <typename T>
void InnerDistanceCenterGradient(Stream& stream, int m, int n, int k, bool squared, const T* x,
                                 const T* centers, const T* dy, bool add, T* d_centers) {
  ForEach(stream, n * k, [=] __host__ __device__(int i) {
    const int c = i / k, at = i % k;
    T sum = add ? d_centers[i] : T(0);
    for (int row = 0; row < m; ++row) {
      sum -= dy[row * n + c] * SlopeOfDistance(squared, x[row * k + at] - centers[i]);
    }
    d_centers[i] = sum;
  });
}

template <typename T>
void RowNorms(Stream& stream, int rows, int columns, const T* x, T* norm) {
  SumRows<double>(
      stream, rows, columns,
      [=] __host__ __device__(int row, int column) {
        const double value = x[row * columns + column];
        return value * value;
      },
      [=] __host__ __device__(int row, double sum) { norm[row] = static_cast<T>(sqrt(sum)); });
}

template <typename T>
void NormaliseRows(Stream& stream, int rows, int columns, const T* x, T* y) {
  Buffer<T> memory(stream, rows);
  T* norm = memory.get();
  RowNorms(stream, rows, columns, x, norm);
  ForEach(stream, rows * columns, [=] __host__ __device__(int i) {
    const T length = norm[i / columns];
    y[i] = length > 0 ? x[i] * (T(1) / length) : T(0);
  });
}

namespace {

/// psi as a function of c = cos(theta), and its derivative: see MarginInnerProductLayer.
struct Margin {
  double psi, slope;

  __host__ __device__ Margin(int m, double c) {
    constexpr double kPi = 3.14159265358979323846;
    // cos(m theta) and its derivative by cos(theta): Chebyshev's polynomials.
    double value = c, derivative = 1, value_before = 1, derivative_before = 0;
    for (int i = 1; i < m; ++i) {
      const double next = 2 * c * value - value_before;
      const double next_derivative = 2 * value + 2 * c * derivative - derivative_before;
      value_before = value;
      derivative_before = derivative;
      value = next;
      derivative = next_derivative;
    }
    const double theta = acos(Min(1., Max(-1., c)));
    const int k = Min(m - 1, static_cast<int>(m * theta / kPi));
    const int sign = k % 2 == 0 ? 1 : -1;
    psi = sign * value - 2 * k;
    slope = sign * derivative;
  }
};

}  // namespace

template <typename T>
void ApplyMargin(Stream& stream, int items, int margin, T lambda, const T* norm,
                 const Labels<T>& labels, T* y) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  ForEach(stream, items, [=] __host__ __device__(int item) {
    const int label = LabelAt(labels, item);
    T* row = y + item * labels.classes;
    if (label < 0) {
      row[0] = nan;
      return;
    }
    if (margin == 1 || norm[item] == 0) return;
    const Margin at(margin, row[label] / norm[item]);
    row[label] = (lambda * row[label] + norm[item] * static_cast<T>(at.psi)) / (T(1) + lambda);
  });
}

template <typename T>
void AddMarginGradient(Stream& stream, int items, int k, int margin, T lambda, const T* x,
                       const T* weights, const T* norm, const Labels<T>& labels, const T* dy,
                       T* dx) {
  Buffer<T> memory(stream, size_t(items) * 2);
  T* factors = memory.get();  // of w and x
  SumRows<double>(
      stream, items, k,
      [=] __host__ __device__(int item, int i) {
        const int label = LabelAt(labels, item);
        return label < 0 ? 0. : double(x[item * k + i]) * weights[label * k + i];
      },
      [=] __host__ __device__(int item, double dot) {
        const int label = LabelAt(labels, item);
        factors[2 * item] = factors[2 * item + 1] = 0;
        if (label < 0 || norm[item] == 0) return;
        const double c = dot / norm[item];
        const Margin at(margin, c);
        const double a = at.slope, b = (at.slope * c - at.psi) / norm[item];
        const double length = sqrt(a * a + b * b);
        // The product's gradient counts w fully; of that, lambda / (1 + lambda) remains.
        const double weight = dy[item * labels.classes + label] / (T(1) + lambda);
        factors[2 * item] = static_cast<T>(weight * (a / length - 1));
        factors[2 * item + 1] = static_cast<T>(-weight * b / length);
      });
  ForEach(stream, items * k, [=] __host__ __device__(int i) {
    const int item = i / k, label = LabelAt(labels, item);
    if (label < 0) return;
    dx[i] += factors[2 * item] * weights[label * k + i % k] + factors[2 * item + 1] * x[i];
  });
}

#define INSTANTIATE(T)                                                                            \
  template void InnerDistance(Stream&, int, int, int, bool, const T*, const T*, const T*, T*);    \
  template void InnerDistanceGradient(Stream&, int, int, int, bool, const T*, const T*, const T*, \
                                      T*);                                                        \
  template void InnerDistanceCenterGradient(Stream&, int, int, int, bool, const T*, const T*,     \
                                            const T*, bool, T*);                                  \
  template void RowNorms(Stream&, int, int, const T*, T*);                                        \
  template void NormaliseRows(Stream&, int, int, const T*, T*);                                   \
  template void ApplyMargin(Stream&, int, int, T, const T*, const Labels<T>&, T*);                \
  template void AddMarginGradient(Stream&, int, int, int, T, const T*, const T*, const T*,        \
                                  const Labels<T>&, const T*, T*);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace caffe::cuda
