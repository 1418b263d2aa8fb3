#include "caffe/kernels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

double Value(double x) { return x; }
double Value(float x) { return x; }
double Value(float16 x) { return static_cast<float>(x); }

template <typename T>
void Put(double value, T* to) {
  *to = static_cast<T>(static_cast<AccumulatorType<T>>(value));
}

template <typename T>
void PutAll(const std::vector<double>& values, T* to) {
  for (size_t i = 0; i < values.size(); ++i) Put(values[i], to + i);
}

/// The index of output `o`'s weight for input `i`.
size_t WeightIndex(size_t n, size_t k, bool transposed, size_t o, size_t i) {
  return transposed ? i * n + o : o * k + i;
}

}  // namespace

// ---- InnerProduct

template <typename T>
void ReferenceInnerProduct(size_t m, size_t n, size_t k, bool transposed, const T* x,
                           const T* weights, const T* bias, T* y) {
  for (size_t row = 0; row < m; ++row) {
    for (size_t o = 0; o < n; ++o) {
      double sum = bias ? Value(bias[o]) : 0;
      for (size_t i = 0; i < k; ++i) {
        sum += Value(x[row * k + i]) * Value(weights[WeightIndex(n, k, transposed, o, i)]);
      }
      Put(sum, y + row * n + o);
    }
  }
}

template <typename T, typename D>
void ReferenceInnerProductBackwardData(size_t m, size_t n, size_t k, bool transposed, const D* dy,
                                       const T* weights, D* dx) {
  for (size_t row = 0; row < m; ++row) {
    for (size_t i = 0; i < k; ++i) {
      double sum = 0;
      for (size_t o = 0; o < n; ++o) {
        sum += Value(dy[row * n + o]) * Value(weights[WeightIndex(n, k, transposed, o, i)]);
      }
      Put(sum, dx + row * k + i);
    }
  }
}

template <typename T, typename D>
void ReferenceInnerProductBackwardWeights(size_t m, size_t n, size_t k, bool transposed, const T* x,
                                          const D* dy, AccumulatorType<D>* d_weights,
                                          AccumulatorType<D>* d_bias) {
  for (size_t o = 0; o < n; ++o) {
    for (size_t i = 0; i < k && d_weights; ++i) {
      double sum = 0;
      for (size_t row = 0; row < m; ++row) sum += Value(dy[row * n + o]) * Value(x[row * k + i]);
      AccumulatorType<D>* to = d_weights + WeightIndex(n, k, transposed, o, i);
      Put(Value(*to) + sum, to);
    }
    if (!d_bias) continue;
    double sum = 0;
    for (size_t row = 0; row < m; ++row) sum += Value(dy[row * n + o]);
    Put(Value(d_bias[o]) + sum, d_bias + o);
  }
}

// ---- Pooling

namespace {

/// A window, clipped to the image; `size` is the divisor of means.
struct Window {
  size_t output;
  int top, left, bottom, right;
  int64_t size;
};

/// Calls f(plane, window) for all outputs.
template <typename Function>
void ForEachWindow(const PoolingShape& s, Function&& f) {
  for (size_t plane = 0; plane < s.planes; ++plane) {
    for (int row = 0; row < s.pooled_height; ++row) {
      for (int column = 0; column < s.pooled_width; ++column) {
        const int top = row * s.stride_h - s.pad_h, left = column * s.stride_w - s.pad_w;
        const int bottom = std::min(top + s.kernel_h, s.height + s.pad_h);
        const int right = std::min(left + s.kernel_w, s.width + s.pad_w);
        f(plane * s.input_plane(),
          Window{plane * s.output_plane() + size_t(row) * s.pooled_width + column, std::max(top, 0),
                 std::max(left, 0), std::min(bottom, s.height), std::min(right, s.width),
                 int64_t(bottom - top) * (right - left)});
      }
    }
  }
}

/// Calls f(index) for the elements of a window.
template <typename Function>
void ForEachElement(const PoolingShape& s, size_t plane, const Window& window, Function&& f) {
  for (int h = window.top; h < window.bottom; ++h) {
    for (int w = window.left; w < window.right; ++w) f(plane + size_t(h) * s.width + w);
  }
}

/// Calls f(output, index of the first of the largest elements) for all nonempty windows: with
/// strides larger than windows the last one may lie beyond the image.
template <typename T, typename Function>
void ForEachMaximum(const PoolingShape& s, const T* x, Function&& f) {
  ForEachWindow(s, [&](size_t plane, const Window& window) {
    bool found = false;
    size_t largest = 0;
    ForEachElement(s, plane, window, [&](size_t i) {
      if (!found || Value(x[i]) > Value(x[largest])) largest = i;
      found = true;
    });
    if (found) f(window.output, largest);
  });
}

}  // namespace

/// The result of an empty window.
template <typename T>
T Lowest() {
  return std::numeric_limits<T>::lowest();
}

template <typename T>
void ReferenceMaxPooling(const PoolingShape& s, const T* x, T* y) {
  std::fill_n(y, s.planes * s.output_plane(), Lowest<T>());
  ForEachMaximum(s, x, [&](size_t output, size_t largest) { y[output] = x[largest]; });
}

template <typename T, typename D>
void ReferenceMaxPoolingBackward(const PoolingShape& s, const T* x, const D* dy, D* dx) {
  std::vector<double> sums(s.planes * s.input_plane());
  ForEachMaximum(s, x, [&](size_t output, size_t largest) { sums[largest] += Value(dy[output]); });
  PutAll(sums, dx);
}

template <typename T>
void ReferenceAveragePooling(const PoolingShape& s, const T* x, T* y) {
  ForEachWindow(s, [&](size_t plane, const Window& window) {
    double sum = 0;
    ForEachElement(s, plane, window, [&](size_t i) { sum += Value(x[i]); });
    Put(sum / window.size, y + window.output);
  });
}

template <typename D>
void ReferenceAveragePoolingBackward(const PoolingShape& s, const D* dy, D* dx) {
  std::vector<double> sums(s.planes * s.input_plane());
  ForEachWindow(s, [&](size_t plane, const Window& window) {
    const double part = Value(dy[window.output]) / window.size;
    ForEachElement(s, plane, window, [&](size_t i) { sums[i] += part; });
  });
  PutAll(sums, dx);
}

// ---- Softmax

template <typename T>
void ReferenceSoftmax(size_t outer, size_t channels, size_t inner, const T* x, T* y) {
  if (channels == 0) return;
  for (size_t column = 0; column < outer * inner; ++column) {
    const size_t first = column / inner * channels * inner + column % inner;
    double largest = Value(x[first]), sum = 0;
    for (size_t c = 0; c < channels; ++c) {
      largest = std::max(largest, Value(x[first + c * inner]));
    }
    for (size_t c = 0; c < channels; ++c) sum += std::exp(Value(x[first + c * inner]) - largest);
    for (size_t c = 0; c < channels; ++c) {
      const size_t i = first + c * inner;
      Put(std::exp(Value(x[i]) - largest) / sum, y + i);
    }
  }
}

template <typename T, typename D>
void ReferenceSoftmaxBackward(size_t outer, size_t channels, size_t inner, const T* y, const D* dy,
                              D* dx) {
  for (size_t column = 0; column < outer * inner; ++column) {
    const size_t first = column / inner * channels * inner + column % inner;
    double dot = 0;
    for (size_t c = 0; c < channels; ++c) {
      dot += Value(dy[first + c * inner]) * Value(y[first + c * inner]);
    }
    for (size_t c = 0; c < channels; ++c) {
      const size_t i = first + c * inner;
      Put(Value(y[i]) * (Value(dy[i]) - dot), dx + i);
    }
  }
}

// ---- LRN

namespace {

/// Calls f(i, j) for each element i and each element j of the window around it, itself included.
template <typename Function>
void ForEachNeighbour(const LrnShape& s, Function&& f) {
  const int half = s.size / 2, across = s.within_channel ? 0 : half;
  const int within = s.within_channel ? half : 0;
  const auto index = [&](int n, int c, int h, int w) {
    return ((size_t(n) * s.channels + c) * s.height + h) * s.width + w;
  };
  for (int n = 0; n < s.num; ++n) {
    for (int c = 0; c < s.channels; ++c) {
      for (int h = 0; h < s.height; ++h) {
        for (int w = 0; w < s.width; ++w) {
          for (int d = std::max(0, c - across); d <= std::min(s.channels - 1, c + across); ++d) {
            for (int i = std::max(0, h - within); i <= std::min(s.height - 1, h + within); ++i) {
              for (int j = std::max(0, w - within); j <= std::min(s.width - 1, w + within); ++j) {
                f(index(n, c, h, w), index(n, d, i, j));
              }
            }
          }
        }
      }
    }
  }
}

double LrnFactor(const LrnShape& s) {
  return s.alpha / (s.within_channel ? double(s.size) * s.size : double(s.size));
}

/// k + alpha / n times the sum of squares around each element.
template <typename T>
std::vector<double> LrnDivisors(const LrnShape& s, const T* x) {
  std::vector<double> divisors(size_t(s.num) * s.channels * s.height * s.width, s.k);
  const double factor = LrnFactor(s);
  ForEachNeighbour(s,
                   [&](size_t i, size_t j) { divisors[i] += factor * Value(x[j]) * Value(x[j]); });
  return divisors;
}

}  // namespace

template <typename T>
void ReferenceLrn(const LrnShape& s, const T* x, T* y) {
  const std::vector<double> divisors = LrnDivisors(s, x);
  for (size_t i = 0; i < divisors.size(); ++i) {
    Put(Value(x[i]) * std::pow(divisors[i], -s.beta), y + i);
  }
}

template <typename T, typename D>
void ReferenceLrnBackward(const LrnShape& s, const T* x, const D* dy, D* dx) {
  const std::vector<double> divisors = LrnDivisors(s, x);
  std::vector<double> sums(divisors.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = Value(dy[i]) * std::pow(divisors[i], -s.beta);
  }
  const double factor = -2 * s.beta * LrnFactor(s);
  ForEachNeighbour(s, [&](size_t i, size_t j) {
    sums[j] +=
        factor * Value(x[j]) * Value(dy[i]) * Value(x[i]) * std::pow(divisors[i], -s.beta - 1);
  });
  PutAll(sums, dx);
}

// ---- BatchNorm

namespace {

/// Calls f(index) for the elements of channel c.
template <typename Function>
void ForEachOfChannel(size_t num, size_t channels, size_t spatial, size_t c, Function&& f) {
  for (size_t n = 0; n < num; ++n) {
    for (size_t i = 0; i < spatial; ++i) f((n * channels + c) * spatial + i);
  }
}

}  // namespace

template <typename T>
void ReferenceMoments(size_t num, size_t channels, size_t spatial, const T* x, double* mean,
                      double* variance) {
  const double count = double(num) * spatial;
  for (size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    ForEachOfChannel(num, channels, spatial, c, [&](size_t i) { sum += Value(x[i]); });
    mean[c] = sum / count;
    ForEachOfChannel(num, channels, spatial, c, [&](size_t i) {
      squares += (Value(x[i]) - mean[c]) * (Value(x[i]) - mean[c]);
    });
    variance[c] = squares / count;
  }
}

template <typename T>
void ReferenceBatchNorm(size_t num, size_t channels, size_t spatial, const T* x, const double* mean,
                        const double* variance, double eps, const double* scale,
                        const double* shift, T* y) {
  for (size_t c = 0; c < channels; ++c) {
    const double slope = (scale ? scale[c] : 1) / std::sqrt(variance[c] + eps);
    ForEachOfChannel(num, channels, spatial, c, [&](size_t i) {
      Put(slope * (Value(x[i]) - mean[c]) + (shift ? shift[c] : 0), y + i);
    });
  }
}

template <typename T, typename D>
void ReferenceBatchNormBackward(size_t num, size_t channels, size_t spatial, const T* x,
                                const double* mean, const double* variance, double eps,
                                const double* scale, bool batch_statistics, const D* dy, D* dx,
                                double* d_scale, double* d_shift) {
  const double count = double(num) * spatial;
  for (size_t c = 0; c < channels; ++c) {
    const double inverse_std = 1 / std::sqrt(variance[c] + eps);
    const auto normalized = [&](size_t i) { return (Value(x[i]) - mean[c]) * inverse_std; };
    double sum = 0, dot = 0;
    ForEachOfChannel(num, channels, spatial, c, [&](size_t i) {
      sum += Value(dy[i]);
      dot += Value(dy[i]) * normalized(i);
    });
    d_scale[c] = dot;
    d_shift[c] = sum;
    const double slope = (scale ? scale[c] : 1) * inverse_std;
    ForEachOfChannel(num, channels, spatial, c, [&](size_t i) {
      const double of_statistics = (sum + normalized(i) * dot) / count;
      Put(slope * (Value(dy[i]) - (batch_statistics ? of_statistics : 0)), dx + i);
    });
  }
}

#define CAFFE_REFERENCE(T)                                                                         \
  template void ReferenceInnerProduct(size_t, size_t, size_t, bool, const T*, const T*, const T*,  \
                                      T*);                                                         \
  template void ReferenceMaxPooling(const PoolingShape&, const T*, T*);                            \
  template void ReferenceAveragePooling(const PoolingShape&, const T*, T*);                        \
  template void ReferenceAveragePoolingBackward(const PoolingShape&, const T*, T*);                \
  template void ReferenceSoftmax(size_t, size_t, size_t, const T*, T*);                            \
  template void ReferenceLrn(const LrnShape&, const T*, T*);                                       \
  template void ReferenceMoments(size_t, size_t, size_t, const T*, double*, double*);              \
  template void ReferenceBatchNorm(size_t, size_t, size_t, const T*, const double*, const double*, \
                                   double, const double*, const double*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_REFERENCE)
#undef CAFFE_REFERENCE

#define CAFFE_REFERENCE(T, D)                                                                      \
  template void ReferenceInnerProductBackwardData(size_t, size_t, size_t, bool, const D*,          \
                                                  const T*, D*);                                   \
  template void ReferenceInnerProductBackwardWeights(                                              \
      size_t, size_t, size_t, bool, const T*, const D*, AccumulatorType<D>*, AccumulatorType<D>*); \
  template void ReferenceMaxPoolingBackward(const PoolingShape&, const T*, const D*, D*);          \
  template void ReferenceSoftmaxBackward(size_t, size_t, size_t, const T*, const D*, D*);          \
  template void ReferenceLrnBackward(const LrnShape&, const T*, const D*, D*);                     \
  template void ReferenceBatchNormBackward(size_t, size_t, size_t, const T*, const double*,        \
                                           const double*, double, const double*, bool, const D*,   \
                                           D*, double*, double*);
CAFFE_FOR_EACH_PAIR(CAFFE_REFERENCE)
#undef CAFFE_REFERENCE

}  // namespace caffe::kernels
