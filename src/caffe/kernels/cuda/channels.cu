#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "launch.hpp"
#include "reduce.hpp"

namespace caffe {
namespace cuda {
namespace {

/// Two sums that are taken at once.
struct Sums {
  double first, second;
};

/// A channel's values are summed in parts, each by a block of threads (or by a thread, see below),
/// so that few channels keep a GPU busy, too.
constexpr int kPartValues = 4096;
constexpr int kParts = 2048;  // of all channels together

int PartsOf(int channels, int values) {
  const int useful = values / kPartValues;
  return std::max(1, std::min(useful, kParts / std::max(1, channels)));
}

/// Rows too short for a block of threads to read at once: each thread then has a channel.
constexpr int kShortRow = 32;

/// finish(c, the sums over outer and inner of map(c, i)), map's i being the place in the array.
template <typename Map, typename Finish>
void SumChannels(Stream& stream, int outer, int channels, int inner, Map map, Finish finish) {
  const auto add = [] __host__ __device__(Sums a, Sums b) {
    return Sums{a.first + b.first, a.second + b.second};
  };
  const int values = outer * inner;
  const bool short_rows = inner < kShortRow && channels > 1;
  // Threads that have a channel each add up little, lest there be too few of them.
  const int parts = short_rows
                        ? std::max(1, std::min(values / 32, 64 * kParts / std::max(1, channels)))
                        : PartsOf(channels, values);
  const int length = (values + parts - 1) / parts;
  const Buffer<Sums> buffer(stream, size_t(parts) * channels);
  Sums* partial = buffer.get();
  // Channels last need no division.
  const auto value_at = [=] __host__ __device__(int c, int i) {
    return map(c, inner == 1 ? i * channels + c : (i / inner * channels + c) * inner + i % inner);
  };
  if (short_rows) {
    ForEach(stream, parts * channels, [=] __host__ __device__(int at) {
      const int begin = at / channels * length;
      Sums sum = {0, 0};
      for (int i = begin; i < Min(begin + length, values); ++i) {
        sum = add(sum, value_at(at % channels, i));
      }
      partial[at] = sum;
    });
  } else {
    ReduceRows(
        stream, parts * channels, length, Sums{0, 0},
        [=] __host__ __device__(int row, int column) {
          const int i = row / channels * length + column;
          return i < values ? value_at(row % channels, i) : Sums{0, 0};
        },
        add, [=] __host__ __device__(int row, Sums sum) { partial[row] = sum; });
  }
  ReduceEach(
      stream, channels, parts, true, Sums{0, 0},
      [=] __host__ __device__(int c, int part) { return partial[part * channels + c]; }, add,
      finish);
}

}  // namespace

template <typename T>
void ChannelAffine(Stream& stream, int outer, int channels, int inner, const AccumulatorType<T>* a,
                   const AccumulatorType<T>* b, const T* x, T* y) {
  using F = Math<T>;
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const int c = i / inner % channels;
    Store(y + i, (a ? a[c] : F(1)) * Load(x + i) + (b ? b[c] : F(0)));
  });
}

template <typename X, typename Z>
void ChannelSums(Stream& stream, int outer, int channels, int inner, const X* x, const Z* z,
                 double* sum, double* dot) {
  SumChannels(
      stream, outer, channels, inner,
      [=] __host__ __device__(int, int i) {
        const double value = Load(x + i);
        return Sums{value, dot ? value * static_cast<double>(Load(z + i)) : 0.};
      },
      [=] __host__ __device__(int c, Sums sums) {
        if (sum) sum[c] = sums.first;
        if (dot) dot[c] = sums.second;
      });
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
  const Buffer<double> buffer(stream, channels);
  double* exact_mean = buffer.get();
  const double share = 1. / Max(1., double(outer) * inner);
  SumChannels(
      stream, outer, channels, inner,
      [=] __host__ __device__(int, int i) {
        return Sums{static_cast<double>(Load(x + i)), 0.};
      },
      [=] __host__ __device__(int c, Sums sums) {
        exact_mean[c] = sums.first * share;
        mean[c] = static_cast<F>(exact_mean[c]);
      });
  SumChannels(
      stream, outer, channels, inner,
      [=] __host__ __device__(int c, int i) {
        const double difference = Load(x + i) - exact_mean[c];
        return Sums{difference * difference, 0.};
      },
      [=] __host__ __device__(int c, Sums sums) {
        variance[c] = static_cast<F>(sums.first * share);
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
                    const F* mean, const F* variance, F* mean_average, F* variance_average,
                    F* weight) {
  ForEach(stream, channels, [=] __host__ __device__(int c) {
    mean_average[c] = static_cast<F>(keep * mean_average[c] + add * mean[c]);
    variance_average[c] =
        static_cast<F>(keep * variance_average[c] + add * variance_factor * variance[c]);
    if (c == 0 && weight) weight[0] = static_cast<F>(keep * weight[0] + 1);
  });
}

template <typename T>
void BatchNormForward(Stream& stream, int outer, int channels, int inner,
                      const AccumulatorType<T>* mean, const AccumulatorType<T>* inverse_deviation,
                      const AccumulatorType<T>* scale, const AccumulatorType<T>* shift, const T* x,
                      T* normalized, T* y) {
  using F = Math<T>;
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const int c = i / inner % channels;
    const F value = (Load(x + i) - mean[c]) * inverse_deviation[c];
    if (normalized) Store(normalized + i, value);
    Store(y + i, (scale ? scale[c] : F(1)) * value + (shift ? shift[c] : F(0)));
  });
}

template <typename T, typename D>
void BatchNormBackward(Stream& stream, int outer, int channels, int inner,
                       const AccumulatorType<D>* scale, const AccumulatorType<D>* inverse_deviation,
                       const double* mean_dy, const double* mean_dot, const T* normalized,
                       const D* dy, D* dx) {
  using F = Math<D>;
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const int c = i / inner % channels;
    const F slope = (scale ? scale[c] : F(1)) * inverse_deviation[c];
    F value = Load(dy + i);
    if (normalized) {
      value -= static_cast<F>(mean_dy[c]) +
               static_cast<F>(Load(normalized + i)) * static_cast<F>(mean_dot[c]);
    }
    Store(dx + i, slope * value);
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
                                 const AccumulatorType<T>*, const T*, T*, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(float16)
#undef INSTANTIATE

#define INSTANTIATE(T, D)                                                                  \
  template void ChannelSums(Stream&, int, int, int, const D*, const T*, double*, double*); \
  template void BatchNormBackward(Stream&, int, int, int, const AccumulatorType<D>*,       \
                                  const AccumulatorType<D>*, const double*, const double*, \
                                  const T*, const D*, D*);
INSTANTIATE(float, float)
INSTANTIATE(float, float16)
INSTANTIATE(float16, float)
INSTANTIATE(float16, float16)
INSTANTIATE(double, double)
#undef INSTANTIATE

#define INSTANTIATE(F)                                                                           \
  template void InverseDeviation(Stream&, int, const F*, double, F*);                            \
  template void WeightedAverages(Stream&, int, const F*, const F*, const F*, F*, F*);            \
  template void UpdateAverages(Stream&, int, double, double, double, const F*, const F*, F*, F*, \
                               F*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace cuda
}  // namespace caffe
