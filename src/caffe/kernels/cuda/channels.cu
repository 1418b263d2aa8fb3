#include <initializer_list>
#include <optional>

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/instances.hpp"
#include "map.hpp"
#include "reduce.hpp"

namespace caffe::cuda {
namespace {

/// Two sums computed at once.
struct Sums {
  double first, second;
};

/// A channel's values are summed in parts, each by a block of threads (or by a thread, see below),
/// so that even few channels keep a GPU busy.
constexpr int kPartValues = 4096;
constexpr int kParts = 2048;  // of all channels together

int PartsOf(int channels, int values) {
  const int useful = values / kPartValues;
  return std::max(1, std::min(useful, kParts / std::max(1, channels)));
}

/// Rows shorter than this are too short for a block of threads to read at once: each thread then
/// takes a channel.
constexpr int kShortRow = 32;

// The summands: terms of V neighbouring elements from element i on, of channels from c on.

template <typename X>
struct Values {
  const X* x;
  template <int V>
  __host__ __device__ void Add(int, int i, Sums (&sums)[V]) const {
    X values[V];
    ReadLanes(x + i, values);
    for (int v = 0; v < V; ++v) sums[v].first += Load(values + v);
  }
};

/// Values, and their products with z.
template <typename X, typename Z>
struct ValuesAndProducts {
  const X* x;
  const Z* z;
  template <int V>
  __host__ __device__ void Add(int, int i, Sums (&sums)[V]) const {
    X values[V];
    Z factors[V];
    ReadLanes(x + i, values);
    ReadLanes(z + i, factors);
    for (int v = 0; v < V; ++v) {
      const double value = Load(values + v);
      sums[v].first += value;
      sums[v].second += value * static_cast<double>(Load(factors + v));
    }
  }
};

/// values = the numbers of V channels from c on; `otherwise` if the array is null.
template <int V, typename F>
__host__ __device__ inline void ReadNumbers(const F* of_channels, int c, F otherwise,
                                            F (&values)[V]) {
  if (of_channels) {
    ReadLanes(of_channels + c, values);
  } else {
    for (int v = 0; v < V; ++v) values[v] = otherwise;
  }
}

/// The value that a T holds of it.
template <typename T>
__host__ __device__ inline Math<T> AsHeld(Math<T> value) {
  T held;
  Store(&held, value);
  return Load(&held);
}

/// Turns gradients behind a ReLU into those in front of it.
template <int V, typename T, typename D>
__host__ __device__ inline void PassRelu(const ReluBehind<Math<D>>& relu, int c,
                                         const T (&normalized)[V], D (&gradients)[V]) {
  if (relu.slope == 1) return;
  Math<D> factor[V], term[V];
  ReadNumbers(relu.scale, c, Math<D>(1), factor);
  ReadNumbers(relu.shift, c, Math<D>(0), term);
  for (int v = 0; v < V; ++v) {
    const bool passes = AsHeld<T>(factor[v] * Load(normalized + v) + term[v]) > 0;
    if (!passes) Store(gradients + v, relu.slope * Load(gradients + v));
  }
}

/// Gradients in front of a ReLU, and their products with normalized values.
template <typename T, typename D>
struct GradientsAndProducts {
  const T* normalized;
  ReluBehind<Math<D>> relu;
  const D* dy;
  template <int V>
  __host__ __device__ void Add(int c, int i, Sums (&sums)[V]) const {
    T factors[V];
    D gradients[V];
    ReadLanes(normalized + i, factors);
    ReadLanes(dy + i, gradients);
    PassRelu(relu, c, factors, gradients);
    for (int v = 0; v < V; ++v) {
      const double value = Load(gradients + v);
      sums[v].first += value;
      sums[v].second += value * static_cast<double>(Load(factors + v));
    }
  }
};

/// Differences of values from their channel's first one, and their squares: avoids cancellation in
/// sums of large, similar values.
template <typename X>
struct DifferencesAndSquares {
  const X* x;
  int inner;
  template <int V>
  __host__ __device__ void Add(int c, int i, Sums (&sums)[V]) const {
    X values[V], firsts[V];
    ReadLanes(x + i, values);
    ReadLanes(x + c * inner, firsts);
    for (int v = 0; v < V; ++v) {
      const double difference =
          static_cast<double>(Load(values + v)) - static_cast<double>(Load(firsts + v));
      sums[v].first += difference;
      sums[v].second += difference * difference;
    }
  }
};

__host__ __device__ inline Sums Both(Sums a, Sums b) {
  return {a.first + b.first, a.second + b.second};
}

/// partial[part, c]: the sums of channels in rows of one element; each thread takes V channels of a
/// part.
template <int V, typename Terms>
void SumSideBySide(Stream& stream, int rows, int channels, int parts, const Terms& terms,
                   Sums* partial) {
  const int pieces = channels / V, length = (rows + parts - 1) / parts;
  ForEach(stream, parts * pieces, [=] __host__ __device__(int at) {
    const int c = at % pieces * V, begin = at / pieces * length;
    Sums sums[V] = {};
    for (int row = begin; row < Min(begin + length, rows); ++row) {
      terms.template Add<V>(c, row * channels + c, sums);
    }
    for (int v = 0; v < V; ++v) partial[size_t(at / pieces) * channels + c + v] = sums[v];
  });
}

/// The same in rows of `inner` elements: short ones, where each thread takes a part of a channel,
template <typename Terms>
void SumShortRows(Stream& stream, int outer, int channels, int inner, int parts, const Terms& terms,
                  Sums* partial) {
  const int values = outer * inner, length = (values + parts - 1) / parts;
  ForEach(stream, parts * channels, [=] __host__ __device__(int at) {
    const int c = at % channels, begin = at / channels * length;
    Sums sums[1] = {};
    for (int i = begin; i < Min(begin + length, values); ++i) {
      terms.template Add<1>(c, (i / inner * channels + c) * inner + i % inner, sums);
    }
    partial[at] = sums[0];
  });
}

/// and long ones, which blocks of threads share.
template <typename Terms>
void SumLongRows(Stream& stream, int outer, int channels, int inner, int parts, const Terms& terms,
                 Sums* partial) {
  const int values = outer * inner, length = (values + parts - 1) / parts;
  ReduceRows(
      stream, parts * channels, length, Sums{0, 0},
      [=] __host__ __device__(int row, int column) {
        const int c = row % channels, i = row / channels * length + column;
        Sums sums[1] = {};
        if (i < values) {
          terms.template Add<1>(c, (i / inner * channels + c) * inner + i % inner, sums);
        }
        return sums[0];
      },
      [] __host__ __device__(Sums a, Sums b) { return Both(a, b); },
      [=] __host__ __device__(int row, Sums sum) { partial[row] = sum; });
}

/// Threads that take a channel each, or kLanes, get few terms each, so that there are enough
/// threads.
int PartsOfThreads(int pieces, int values) {
  constexpr int kThreads = 64 * kParts, kMinValues = 32;
  return std::max(1, std::min(values / kMinValues, kThreads / std::max(1, pieces)));
}

/// finish(c, the sums over outer and inner of the terms). `wide`: the arrays are aligned so that
/// kLanes neighbours can be read at once from multiples of kLanes on.
template <typename Terms, typename Finish>
void SumChannels(Stream& stream, int outer, int channels, int inner, bool wide, const Terms& terms,
                 Finish finish) {
  const bool side_by_side = inner == 1 && channels > 1;
  const bool short_rows = inner < kShortRow && channels > 1;
  const bool lanes = side_by_side && wide && channels % kLanes == 0;
  const int parts = lanes        ? PartsOfThreads(2 * channels / kLanes, outer)
                    : short_rows ? PartsOfThreads(channels, outer * inner)
                                 : PartsOf(channels, outer * inner);
  const Buffer<Sums> buffer(stream, size_t(parts) * channels);
  Sums* partial = buffer.get();
  if (lanes) {
    SumSideBySide<kLanes>(stream, outer, channels, parts, terms, partial);
  } else if (side_by_side) {
    SumSideBySide<1>(stream, outer, channels, parts, terms, partial);
  } else if (short_rows) {
    SumShortRows(stream, outer, channels, inner, parts, terms, partial);
  } else {
    SumLongRows(stream, outer, channels, inner, parts, terms, partial);
  }
  ReduceEach(
      stream, channels, parts, true, Sums{0, 0},
      [=] __host__ __device__(int c, int part) { return partial[size_t(part) * channels + c]; },
      [] __host__ __device__(Sums a, Sums b) { return Both(a, b); }, finish);
}

/// True if kernels may take kLanes channels per thread: channels are adjacent, and the arrays are
/// aligned to words.
bool TakesLanes(int channels, int inner, std::initializer_list<const void*> arrays) {
  return inner == 1 && channels % kLanes == 0 &&
         std::all_of(arrays.begin(), arrays.end(), BeginsAtWord);
}

// V is 1 unless TakesLanes. Null pointers as in the functions without it.

template <int V, typename T>
void AffineLanes(Stream& stream, int count, int channels, int inner, const Math<T>* a,
                 const Math<T>* b, const T* x, T* y) {
  using F = Math<T>;
  ForEach(stream, count / V, [=] __host__ __device__(int i) {
    const int at = i * V, c = at / inner % channels;
    T values[V];
    F factor[V], term[V];
    ReadLanes(x + at, values);
    ReadNumbers(a, c, F(1), factor);
    ReadNumbers(b, c, F(0), term);
    for (int v = 0; v < V; ++v) Store(values + v, factor[v] * Load(values + v) + term[v]);
    WriteLanes(values, y + at);
  });
}

template <int V, typename T>
void NormalizeLanes(Stream& stream, int count, int channels, int inner, const Math<T>* mean,
                    const Math<T>* inverse_deviation, const Math<T>* scale, const Math<T>* shift,
                    const T* x, T* normalized, T* y, bool in_steps, Math<T> slope) {
  using F = Math<T>;
  ForEach(stream, count / V, [=] __host__ __device__(int i) {
    const int at = i * V, c = at / inner % channels;
    T values[V], results[V];
    F centre[V], inverse[V], factor[V], term[V];
    ReadLanes(x + at, values);
    ReadLanes(mean + c, centre);
    ReadLanes(inverse_deviation + c, inverse);
    ReadNumbers(scale, c, F(1), factor);
    ReadNumbers(shift, c, F(0), term);
    for (int v = 0; v < V; ++v) {
      const F value = (Load(values + v) - centre[v]) * inverse[v];
      Store(values + v, value);
      const F base = in_steps ? Load(values + v) : value;
      Store(results + v, LeakyRelu(slope, AsHeld<T>(factor[v] * base + term[v])));
    }
    if (normalized) WriteLanes(values, normalized + at);
    WriteLanes(results, y + at);
  });
}

template <int V, typename T, typename D>
void NormalizeBackwardLanes(Stream& stream, int count, int channels, int inner,
                            const Math<D>* scale, const Math<D>* inverse_deviation,
                            const double* mean_dy, const double* mean_dot, const T* normalized,
                            const ReluBehind<Math<D>>& relu, const D* dy, D* dx) {
  using F = Math<D>;
  ForEach(stream, count / V, [=] __host__ __device__(int i) {
    const int at = i * V, c = at / inner % channels;
    D gradients[V];
    T values[V] = {};  // not read without `normalized`, which compilers do not see
    F factor[V], inverse[V];
    double dy_mean[V], dot_mean[V];
    ReadLanes(dy + at, gradients);
    ReadNumbers(scale, c, F(1), factor);
    ReadLanes(inverse_deviation + c, inverse);
    if (normalized) {
      ReadLanes(normalized + at, values);
      PassRelu(relu, c, values, gradients);
    }
    if (mean_dy) {
      ReadLanes(mean_dy + c, dy_mean);
      ReadLanes(mean_dot + c, dot_mean);
    }
    for (int v = 0; v < V; ++v) {
      const F slope = factor[v] * inverse[v];
      F value = Load(gradients + v);
      if (mean_dy) {
        value -= static_cast<F>(dy_mean[v]) +
                 static_cast<F>(Load(values + v)) * static_cast<F>(dot_mean[v]);
      }
      Store(gradients + v, slope * value);
    }
    WriteLanes(gradients, dx + at);
  });
}

}  // namespace

template <typename T>
void ChannelAffine(Stream& stream, int outer, int channels, int inner, const AccumulatorType<T>* a,
                   const AccumulatorType<T>* b, const T* x, T* y) {
  WithLanes(TakesLanes(channels, inner, {x, y, a, b}), [&](auto lanes) {
    AffineLanes<decltype(lanes)::value>(stream, outer * channels * inner, channels, inner, a, b, x,
                                        y);
  });
}

template <typename X, typename Z>
void ChannelSums(Stream& stream, int outer, int channels, int inner, const X* x, const Z* z,
                 double* sum, double* dot) {
  const auto finish = [=] __host__ __device__(int c, Sums sums) {
    if (sum) sum[c] = sums.first;
    if (dot) dot[c] = sums.second;
  };
  const bool wide = BeginsAtWord(x) && BeginsAtWord(z);
  if (dot) {
    SumChannels(stream, outer, channels, inner, wide, ValuesAndProducts<X, Z>{x, z}, finish);
  } else {
    SumChannels(stream, outer, channels, inner, wide, Values<X>{x}, finish);
  }
}

template <typename D>
void AddChannelSums(Stream& stream, int outer, int channels, int inner, const D* dy,
                    AccumulatorType<D>* diff) {
  const Buffer<double> sums(stream, channels);
  ChannelSums<D, D>(stream, outer, channels, inner, dy, nullptr, sums.get(), nullptr);
  Axpby(stream, channels, Math<D>(1), sums.get(), Math<D>(1), diff);
}

template <typename T>
void ChannelMoments(Stream& stream, int outer, int channels, int inner, const T* x,
                    AccumulatorType<T>* mean, AccumulatorType<T>* variance) {
  using F = Math<T>;
  const double share = 1. / Max(1., double(outer) * inner);
  const bool empty = outer == 0 || inner == 0;
  SumChannels(
      stream, outer, channels, inner, BeginsAtWord(x), DifferencesAndSquares<T>{x, inner},
      [=] __host__ __device__(int c, Sums sums) {
        const double difference = sums.first * share;
        mean[c] =
            static_cast<F>((empty ? 0. : static_cast<double>(Load(x + c * inner))) + difference);
        variance[c] = static_cast<F>(Max(sums.second * share - difference * difference, 0.));
      });
}

template <typename F>
void InverseDeviation(Stream& stream, int channels, const F* variance, double eps, F* inverse) {
  ForEach(stream, channels, [=] __host__ __device__(int c) {
    inverse[c] = static_cast<F>(1. / sqrt(static_cast<double>(variance[c]) + eps));
  });
}

template <typename F>
void WeightedAverages(Stream& stream, int channels, const F* mean_sum, const F* variance_sum,
                      const F* weight, F* mean, F* variance) {
  ForEach(stream, channels, [=] __host__ __device__(int c) {
    const double factor = weight[0] == 0 ? 0. : 1. / weight[0];
    mean[c] = static_cast<F>(factor * mean_sum[c]);
    variance[c] = static_cast<F>(factor * variance_sum[c]);
  });
}

template <typename F>
void UpdateAverages(Stream& stream, int channels, double keep, double add, double variance_factor,
                    bool copies_first, const F* mean, const F* variance, F* mean_average,
                    F* variance_average, F* weight) {
  std::optional<Buffer<int>> all_zero;
  if (copies_first) all_zero.emplace(stream, 1);
  int* const copied = copies_first ? all_zero->get() : nullptr;
  if (copied) {
    ReduceRows(
        stream, 1, channels, 1,
        [=] __host__ __device__(int, int c) {
          return int(mean_average[c] == 0 && variance_average[c] == 0);
        },
        [] __host__ __device__(int a, int b) { return a & b; },
        [=] __host__ __device__(int, int all) { *copied = all; });
  }
  ForEach(stream, channels, [=] __host__ __device__(int c) {
    const bool copy = copied && *copied;
    const double kept = copy ? 0 : keep, added = copy ? 1 : add;
    mean_average[c] = static_cast<F>(kept * mean_average[c] + added * mean[c]);
    variance_average[c] =
        static_cast<F>(kept * variance_average[c] + added * variance_factor * variance[c]);
    if (c == 0 && weight) weight[0] = static_cast<F>(keep * weight[0] + 1);
  });
}

template <typename T>
void BatchNormForward(Stream& stream, int outer, int channels, int inner,
                      const AccumulatorType<T>* mean, const AccumulatorType<T>* inverse_deviation,
                      const AccumulatorType<T>* scale, const AccumulatorType<T>* shift, const T* x,
                      T* normalized, T* y, bool in_steps, AccumulatorType<T> slope) {
  WithLanes(TakesLanes(channels, inner, {x, normalized, y, mean, inverse_deviation, scale, shift}),
            [&](auto lanes) {
              NormalizeLanes<decltype(lanes)::value>(stream, outer * channels * inner, channels,
                                                     inner, mean, inverse_deviation, scale, shift,
                                                     x, normalized, y, in_steps, slope);
            });
}

template <typename T, typename D>
void BatchNormSums(Stream& stream, int outer, int channels, int inner, const T* normalized,
                   const ReluBehind<AccumulatorType<D>>& relu, const D* dy, double* sum,
                   double* dot) {
  if (relu.slope == 1) {
    return ChannelSums(stream, outer, channels, inner, dy, normalized, sum, dot);
  }
  const bool wide = BeginsAtWord(dy) && BeginsAtWord(normalized) && BeginsAtWord(relu.scale) &&
                    BeginsAtWord(relu.shift);
  SumChannels(stream, outer, channels, inner, wide,
              GradientsAndProducts<T, D>{normalized, relu, dy},
              [=] __host__ __device__(int c, Sums sums) {
                sum[c] = sums.first;
                dot[c] = sums.second;
              });
}

template <typename T, typename D>
void BatchNormBackward(Stream& stream, int outer, int channels, int inner,
                       const AccumulatorType<D>* scale, const AccumulatorType<D>* inverse_deviation,
                       const double* mean_dy, const double* mean_dot, const T* normalized,
                       const ReluBehind<AccumulatorType<D>>& relu, const D* dy, D* dx) {
  WithLanes(TakesLanes(channels, inner,
                       {normalized, dy, dx, scale, inverse_deviation, mean_dy, mean_dot, relu.scale,
                        relu.shift}),
            [&](auto lanes) {
              NormalizeBackwardLanes<decltype(lanes)::value>(
                  stream, outer * channels * inner, channels, inner, scale, inverse_deviation,
                  mean_dy, mean_dot, normalized, relu, dy, dx);
            });
}

#define INSTANTIATE(T)                                                                 \
  template void ChannelAffine(Stream&, int, int, int, const AccumulatorType<T>*,       \
                              const AccumulatorType<T>*, const T*, T*);                \
  template void AddChannelSums(Stream&, int, int, int, const T*, AccumulatorType<T>*); \
  template void ChannelMoments(Stream&, int, int, int, const T*, AccumulatorType<T>*,  \
                               AccumulatorType<T>*);                                   \
  template void BatchNormForward(Stream&, int, int, int, const AccumulatorType<T>*,    \
                                 const AccumulatorType<T>*, const AccumulatorType<T>*, \
                                 const AccumulatorType<T>*, const T*, T*, T*, bool,    \
                                 AccumulatorType<T>);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, D)                                                                         \
  template void ChannelSums(Stream&, int, int, int, const D*, const T*, double*, double*);        \
  template void BatchNormBackward(Stream&, int, int, int, const AccumulatorType<D>*,              \
                                  const AccumulatorType<D>*, const double*, const double*,        \
                                  const T*, const ReluBehind<AccumulatorType<D>>&, const D*, D*); \
  template void BatchNormSums(Stream&, int, int, int, const T*,                                   \
                              const ReluBehind<AccumulatorType<D>>&, const D*, double*, double*);
CAFFE_FOR_EACH_PAIR(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(F)                                                                             \
  template void InverseDeviation(Stream&, int, const F*, double, F*);                              \
  template void WeightedAverages(Stream&, int, const F*, const F*, const F*, F*, F*);              \
  template void UpdateAverages(Stream&, int, double, double, double, bool, const F*, const F*, F*, \
                               F*, F*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace caffe::cuda
