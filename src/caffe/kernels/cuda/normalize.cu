#include "caffe/kernels/cuda/normalize.hpp"

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/instances.hpp"
#include "launch.hpp"

namespace caffe::cuda {
namespace {

/// An LrnShape with its numbers in the type of the arithmetic, and precomputed values.
template <typename F>
struct Lrn {
  int channels, height, width;
  int channel_step, place_step;  // elements from one channel, and one place, to the next
  int half;                      // elements on either side of the middle of a window
  bool within_channel;
  F alpha;  // factor of the sum of squares
  F beta, k;

  Lrn(const kernels::LrnShape& s, bool channels_last)
      : channels(s.channels),
        height(s.height),
        width(s.width),
        channel_step(channels_last ? 1 : s.height * s.width),
        place_step(channels_last ? s.channels : 1),
        half(s.size / 2),
        within_channel(s.within_channel),
        alpha(static_cast<F>(s.alpha / (s.within_channel ? double(s.size) * s.size : s.size))),
        beta(static_cast<F>(s.beta)),
        k(static_cast<F>(s.k)) {}

  /// The sum of term(j) over the places j of the window around place i.
  template <typename Term>
  __host__ __device__ F WindowSum(int i, Term term) const {
    F sum = 0;
    if (within_channel) {
      const int place = i / place_step, w = place % width, h = place / width % height;
      for (int y = Max(0, h - half); y <= Min(height - 1, h + half); ++y) {
        for (int x = Max(0, w - half); x <= Min(width - 1, w + half); ++x) {
          sum += term(i + ((y - h) * width + (x - w)) * place_step);
        }
      }
      return sum;
    }
    const int c = i / channel_step % channels;
    for (int d = Max(0, c - half); d <= Min(channels - 1, c + half); ++d) {
      sum += term(i + (d - c) * channel_step);
    }
    return sum;
  }
};

template <typename F, typename T>
struct SquareAt {
  const T* x;
  __host__ __device__ F operator()(int i) const {
    const F value = Load(x + i);
    return value * value;
  }
};
template <typename F>
struct ValueAt {
  const F* x;
  __host__ __device__ F operator()(int i) const { return x[i]; }
};

}  // namespace

template <typename T>
void LrnForward(Stream& stream, const kernels::LrnShape& shape, bool channels_last, const T* x,
                T* y) {
  using F = Math<T>;
  const Lrn<F> lrn(shape, channels_last);
  const SquareAt<F, T> square{x};
  ForEach(stream, shape.num * shape.channels * shape.height * shape.width,
          [=] __host__ __device__(int i) {
            const F s = lrn.k + lrn.alpha * lrn.WindowSum(i, square);
            Store(y + i, Load(x + i) * pow(s, -lrn.beta));
          });
}

template <typename T, typename D>
void LrnBackward(Stream& stream, const kernels::LrnShape& shape, bool channels_last, const T* x,
                 const D* dy, D* dx) {
  using F = Math<D>;
  const Lrn<F> lrn(shape, channels_last);
  const SquareAt<F, T> square{x};
  const int count = shape.num * shape.channels * shape.height * shape.width;
  const Buffer<F> powers_buffer(stream, count), ratios_buffer(stream, count);
  F* powers = powers_buffer.get();  // s^-beta
  F* ratios = ratios_buffer.get();  // dy x / s^(beta + 1)
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const F s = lrn.k + lrn.alpha * lrn.WindowSum(i, square);
    powers[i] = pow(s, -lrn.beta);
    ratios[i] = static_cast<F>(Load(dy + i)) * static_cast<F>(Load(x + i)) * powers[i] / s;
  });
  const ValueAt<F> ratio{ratios};
  const F factor = 2 * lrn.beta * lrn.alpha;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    Store(dx + i, Load(dy + i) * powers[i] -
                      factor * static_cast<F>(Load(x + i)) * lrn.WindowSum(i, ratio));
  });
}

namespace {

/// A NormShape in ints: the values are (num, channels, spatial); those of a group share a norm.
struct Groups {
  int channels, spatial;
  bool across_spatial;

  explicit Groups(const kernels::NormShape& s)
      : channels(static_cast<int>(s.channels)),
        spatial(static_cast<int>(s.spatial)),
        across_spatial(s.across_spatial) {}
  __host__ __device__ int Channel(int i) const { return i / spatial % channels; }
  __host__ __device__ int Group(int i) const {
    const int n = i / spatial / channels;
    return across_spatial ? n : n * spatial + i % spatial;
  }
  /// The place of member j of a group.
  __host__ __device__ int Member(int group, int j) const {
    if (across_spatial) return group * channels * spatial + j;
    return (group / spatial * channels + j) * spatial + group % spatial;
  }
};

template <typename F>
__host__ __device__ inline F At(ChannelScale<F> scale, int c) {
  return scale.values ? scale.values[scale.shared ? 0 : c] : F(1);
}

/// finish(group, the sum of map(i) over the places of the group).
template <typename Map, typename Finish>
void SumGroups(Stream& stream, const kernels::NormShape& shape, Map map, Finish finish) {
  const Groups groups(shape);
  const int members = groups.channels * (groups.across_spatial ? groups.spatial : 1);
  const int count = static_cast<int>(shape.num) * (groups.across_spatial ? 1 : groups.spatial);
  if (groups.across_spatial || groups.spatial < 32) {
    SumRows<double>(
        stream, count, members,
        [=] __host__ __device__(int group, int j) { return map(groups.Member(group, j)); }, finish);
    return;
  }
  // Neighbouring threads read neighbouring elements, which a block per place would not.
  ForEach(stream, count, [=] __host__ __device__(int group) {
    double sum = 0;
    for (int j = 0; j < members; ++j) sum += map(groups.Member(group, j));
    finish(group, sum);
  });
}

/// 1 / norm of each group.
template <typename F, typename T>
void InverseNorms(Stream& stream, const kernels::NormShape& shape, const T* x, F* inverse) {
  const double eps = shape.eps;
  SumGroups(
      stream, shape,
      [=] __host__ __device__(int i) {
        const double value = Load(x + i);
        return value * value;
      },
      [=] __host__ __device__(int group, double sum) {
        inverse[group] = static_cast<F>(1. / sqrt(sum + eps));
      });
}

size_t GroupCount(const kernels::NormShape& s) {
  return s.num * (s.across_spatial ? 1 : s.spatial);
}

int Count(const kernels::NormShape& s) { return static_cast<int>(s.num * s.channels * s.spatial); }

/// d_scale[c], or d_scale[0] if it is shared, += the sum of dy x / norm.
template <typename F, typename T, typename D>
void AddScaleGradient(Stream& stream, const kernels::NormShape& shape, bool shared,
                      const F* inverse, const T* x, const D* dy, F* d_scale) {
  const Groups groups(shape);
  const int channels = groups.channels;
  const Buffer<double> buffer(stream, channels);
  double* sums = buffer.get();
  SumRows<double>(
      stream, channels, static_cast<int>(shape.num) * groups.spatial,
      [=] __host__ __device__(int c, int j) {
        const int i = (j / groups.spatial * channels + c) * groups.spatial + j % groups.spatial;
        return static_cast<double>(static_cast<F>(Load(dy + i)) * static_cast<F>(Load(x + i)) *
                                   inverse[groups.Group(i)]);
      },
      [=] __host__ __device__(int c, double sum) { sums[c] = sum; });
  if (!shared) return Axpby(stream, channels, F(1), sums, F(1), d_scale);
  SumRows<double>(
      stream, 1, channels, [=] __host__ __device__(int, int c) { return sums[c]; },
      [=] __host__ __device__(int, double sum) { *d_scale += static_cast<F>(sum); });
}

}  // namespace

template <typename T>
void Normalize(Stream& stream, const kernels::NormShape& shape,
               ChannelScale<AccumulatorType<T>> scale, const T* x, T* y) {
  using F = Math<T>;
  const Buffer<F> buffer(stream, GroupCount(shape));
  F* inverse = buffer.get();
  InverseNorms(stream, shape, x, inverse);
  const Groups groups(shape);
  ForEach(stream, Count(shape), [=] __host__ __device__(int i) {
    Store(y + i, Load(x + i) * (At(scale, groups.Channel(i)) * inverse[groups.Group(i)]));
  });
}

template <typename T, typename D>
void NormalizeGradient(Stream& stream, const kernels::NormShape& shape,
                       ChannelScale<AccumulatorType<D>> scale, const T* x, const D* dy, D* dx,
                       AccumulatorType<D>* d_scale) {
  using F = Math<D>;
  const Buffer<F> inverse_buffer(stream, GroupCount(shape));
  F* inverse = inverse_buffer.get();
  InverseNorms(stream, shape, x, inverse);
  if (d_scale) AddScaleGradient(stream, shape, scale.shared, inverse, x, dy, d_scale);
  if (!dx) return;
  const Groups groups(shape);
  const Buffer<F> dots_buffer(stream, GroupCount(shape));
  F* dots = dots_buffer.get();
  SumGroups(
      stream, shape,
      [=] __host__ __device__(int i) {
        return static_cast<double>(At(scale, groups.Channel(i)) * static_cast<F>(Load(dy + i)) *
                                   static_cast<F>(Load(x + i)));
      },
      [=] __host__ __device__(int group, double sum) { dots[group] = static_cast<F>(sum); });
  ForEach(stream, Count(shape), [=] __host__ __device__(int i) {
    const int group = groups.Group(i);
    const F factor = inverse[group];
    Store(dx + i, factor * (At(scale, groups.Channel(i)) * Load(dy + i) -
                            static_cast<F>(Load(x + i)) * (dots[group] * factor * factor)));
  });
}

template <typename T>
void Standardize(Stream& stream, int rows, int length, double eps, const T* x, T* y,
                 double* deviation) {
  using F = Math<T>;
  const Buffer<F> buffer(stream, rows);
  F* mean = buffer.get();
  SumRows<double>(
      stream, rows, length,
      [=] __host__ __device__(int row, int i) {
        return static_cast<double>(Load(x + row * length + i));
      },
      [=] __host__ __device__(int row, double sum) { mean[row] = static_cast<F>(sum / length); });
  if (deviation) {
    SumRows<double>(
        stream, rows, length,
        [=] __host__ __device__(int row, int i) {
          const double difference = Load(x + row * length + i) - mean[row];
          return difference * difference;
        },
        [=] __host__ __device__(int row, double sum) { deviation[row] = sqrt(sum / length); });
  }
  ForEach(stream, rows * length, [=] __host__ __device__(int i) {
    const int row = i / length;
    const F factor = deviation ? static_cast<F>(1. / (deviation[row] + eps)) : F(1);
    Store(y + i, (Load(x + i) - mean[row]) * factor);
  });
}

// The formula: kernels/cpu/normalization/normalize.cpp.
template <typename T, typename D>
void StandardizeGradient(Stream& stream, int rows, int length, double eps, const T* y,
                         const double* deviation, const D* dy, D* dx) {
  using F = Math<D>;
  const Buffer<F> means(stream, rows), slopes(stream, rows);
  F* mean = means.get();
  F* slope = slopes.get();
  SumRows<double>(
      stream, rows, length,
      [=] __host__ __device__(int row, int i) {
        return static_cast<double>(Load(dy + row * length + i));
      },
      [=] __host__ __device__(int row, double sum) { mean[row] = static_cast<F>(sum / length); });
  if (deviation) {
    SumRows<double>(
        stream, rows, length,
        [=] __host__ __device__(int row, int i) {
          const int at = row * length + i;
          return static_cast<double>(Load(y + at)) * static_cast<double>(Load(dy + at));
        },
        [=] __host__ __device__(int row, double sum) {
          const double s = deviation[row];
          slope[row] = s > 0 ? static_cast<F>(sum / length * ((s + eps) / s)) : F(0);
        });
  }
  ForEach(stream, rows * length, [=] __host__ __device__(int i) {
    const int row = i / length;
    F value = Load(dy + i) - mean[row];
    if (deviation) {
      value = (value - static_cast<F>(Load(y + i)) * slope[row]) *
              static_cast<F>(1. / (deviation[row] + eps));
    }
    Store(dx + i, value);
  });
}

#define INSTANTIATE(T)                                                                          \
  template void LrnForward(Stream&, const kernels::LrnShape&, bool, const T*, T*);              \
  template void Normalize(Stream&, const kernels::NormShape&, ChannelScale<AccumulatorType<T>>, \
                          const T*, T*);                                                        \
  template void Standardize(Stream&, int, int, double, const T*, T*, double*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, D)                                                                         \
  template void LrnBackward(Stream&, const kernels::LrnShape&, bool, const T*, const D*, D*);     \
  template void NormalizeGradient(Stream&, const kernels::NormShape&,                             \
                                  ChannelScale<AccumulatorType<D>>, const T*, const D*, D*,       \
                                  AccumulatorType<D>*);                                           \
  template void StandardizeGradient(Stream&, int, int, double, const T*, const double*, const D*, \
                                    D*);
CAFFE_FOR_EACH_PAIR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace caffe::cuda
