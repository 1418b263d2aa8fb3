#include "caffe/kernels/pixel_channels.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "caffe/kernels/batch_norm.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/elementwise/pixel_rows.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

/// Calls f(rows, numbers of a row, offset) for parts of the rows, spread over threads, and for the
/// rest.
template <typename Function>
void ForEachPart(const PixelRows& s, Function&& f) {
  ParallelFor(s.rows, std::max<size_t>(1, kLoopGrain / s.period),
              [&](size_t begin, size_t end) { f(end - begin, s.period, begin * s.period); });
  if (s.rest > 0) f(1, s.rest, s.offset_of_rest());
}

/// Where sums of a number of rows go that only the sizes determine; segments are spread over
/// threads, and then added in their order.
class Segments {
 public:
  explicit Segments(const PixelRows& s)
      : s_(s),
        count_(std::clamp<size_t>(s.rows * s.period / kLoopGrain, 1,
                                  std::clamp<size_t>(s.rows, 1, kMaxSegments))) {}

  size_t count() const { return count_; }
  size_t rows(size_t segment) const { return end(segment) - begin(segment); }
  size_t begin(size_t segment) const { return s_.rows * segment / count_; }
  size_t end(size_t segment) const { return begin(segment + 1); }
  /// Calls f(segment) on several threads.
  template <typename Function>
  void ForEach(Function&& f) const {
    ParallelFor(count_, 1, [&](size_t first, size_t last) {
      for (size_t segment = first; segment < last; ++segment) f(segment);
    });
  }

 private:
  const PixelRows& s_;
  const size_t count_;
};

/// Adds `numbers` sums of places to those of their channels.
void Fold(const PixelRows& s, size_t numbers, const double* places, double* channels) {
  for (size_t i = 0; i < numbers; ++i) channels[i % s.channels] += places[i];
}

}  // namespace

template <typename T>
void PixelMoments(size_t pixels, size_t channels, const T* x, double* mean, double* variance) {
  std::fill_n(mean, channels, 0.);
  std::fill_n(variance, channels, 0.);
  if (pixels == 0 || channels == 0) return;
  if constexpr (std::is_same<T, double>::value) {
    ChannelMoments(pixels, channels, 1, x, mean, variance);
  } else {
    const PixelRows s(pixels, channels);
    const Segments segments(s);
    const auto add = ChosenKernels().channels.moments[StorageOf<T>()];
    const size_t size = 2 * s.period;
    std::vector<double> moments((segments.count() + 1) * size, 0.);
    segments.ForEach([&](size_t i) {
      std::vector<float> scratch(3 * s.period);
      double* own = moments.data() + i * size;
      add(segments.rows(i), s.period, x + segments.begin(i) * s.period, 0, scratch.data(), own,
          own + s.period);
    });
    double* last = moments.data() + segments.count() * size;
    if (s.rest > 0) {
      std::vector<float> scratch(3 * s.rest);
      add(1, s.rest, x + s.offset_of_rest(), 0, scratch.data(), last, last + s.period);
    }
    std::vector<ValueMoments> total(channels);
    for (size_t i = 0; i <= segments.count(); ++i) {
      const bool is_rest = i == segments.count();
      const double count = is_rest ? 1. : double(segments.rows(i));
      const double* own = moments.data() + i * size;
      for (size_t k = 0; k < (is_rest ? s.rest : s.period); ++k) {
        total[k % channels].Add({count, own[k], own[s.period + k]});
      }
    }
    for (size_t c = 0; c < channels; ++c) {
      mean[c] = total[c].mean;
      variance[c] = total[c].squares / double(pixels);
    }
  }
}

template <typename X, typename Z>
void SumsOverPixels(size_t pixels, size_t channels, const X* x, const Z* z, double* sum,
                    double* dot) {
  if constexpr (std::is_same<X, double>::value) {
    ChannelSums(pixels, channels, 1, x, z, sum, dot);
  } else {
    std::vector<double> sums(channels, 0.), dots(channels, 0.);
    if (pixels > 0 && channels > 0 && (sum || dot)) {
      const PixelRows s(pixels, channels);
      const Segments segments(s);
      const ChannelLoops& loops = ChosenKernels().channels;
      std::vector<double> places((segments.count() + 1) * 2 * s.period, 0.);
      const auto add = [&](size_t rows, size_t n, size_t offset, double* own) {
        std::vector<float> scratch(2 * n);
        if (dot) {
          loops.sums[StorageOf<X>()][StorageOf<Z>()](rows, n, x + offset, z + offset,
                                                     scratch.data(), own, own + s.period);
        } else {
          loops.sum[StorageOf<X>()](rows, n, x + offset, scratch.data(), own);
        }
      };
      segments.ForEach([&](size_t i) {
        add(segments.rows(i), s.period, segments.begin(i) * s.period,
            places.data() + i * 2 * s.period);
      });
      double* last = places.data() + segments.count() * 2 * s.period;
      if (s.rest > 0) add(1, s.rest, s.offset_of_rest(), last);
      for (const double* own = places.data(); own <= last; own += 2 * s.period) {
        Fold(s, own == last ? s.rest : s.period, own, sums.data());
        Fold(s, own == last ? s.rest : s.period, own + s.period, dots.data());
      }
    }
    if (sum) std::copy(sums.begin(), sums.end(), sum);
    if (dot) std::copy(dots.begin(), dots.end(), dot);
  }
}

template <typename T>
void PixelAffine(size_t pixels, size_t channels, const AccumulatorType<T>* a,
                 const AccumulatorType<T>* b, const T* x, T* y) {
  if constexpr (std::is_same<T, double>::value) {
    ChannelAffine(pixels, channels, 1, a, b, x, y);
  } else {
    if (pixels == 0 || channels == 0) return;
    const PixelRows s(pixels, channels);
    const std::vector<float> factor = s.OfRow(a), term = s.OfRow(b);
    const auto affine = ChosenKernels().channels.affine[StorageOf<T>()];
    ForEachPart(s, [&](size_t rows, size_t n, size_t offset) {
      affine(rows, n, factor.data(), term.data(), x + offset, y + offset);
    });
  }
}

template <typename T>
void PixelAffineTwice(size_t pixels, size_t channels, const AccumulatorType<T>* a,
                      const AccumulatorType<T>* b, const AccumulatorType<T>* c,
                      const AccumulatorType<T>* d, const T* x, T* y, T* z) {
  if constexpr (std::is_same<T, double>::value) {
    ChannelAffine(pixels, channels, 1, a, b, x, y);
    ChannelAffine(pixels, channels, 1, c, d, x, z);
  } else {
    if (pixels == 0 || channels == 0) return;
    const PixelRows s(pixels, channels);
    const std::vector<float> rows_of[4] = {s.OfRow(a), s.OfRow(b), s.OfRow(c), s.OfRow(d)};
    const auto affine = ChosenKernels().channels.affine_twice[StorageOf<T>()];
    ForEachPart(s, [&](size_t rows, size_t n, size_t offset) {
      affine(rows, n, rows_of[0].data(), rows_of[1].data(), rows_of[2].data(), rows_of[3].data(),
             x + offset, y + offset, z + offset);
    });
  }
}

template <typename Z, typename X>
void PixelCombine(size_t pixels, size_t channels, const AccumulatorType<X>* a, const X* x,
                  const AccumulatorType<X>* b, const Z* z, const AccumulatorType<X>* d, X* y) {
  if constexpr (std::is_same<X, double>::value) {
    ChannelCombine(pixels, channels, 1, a, x, b, z, d, y);
  } else {
    if (pixels == 0 || channels == 0) return;
    const PixelRows s(pixels, channels);
    const std::vector<float> factor = s.OfRow(a), other = s.OfRow(b), term = s.OfRow(d);
    const auto combine = ChosenKernels().channels.combine[StorageOf<X>()][StorageOf<Z>()];
    ForEachPart(s, [&](size_t rows, size_t n, size_t offset) {
      combine(rows, n, factor.data(), x + offset, other.data(), z + offset, term.data(),
              y + offset);
    });
  }
}

#define CAFFE_OF_TYPE(T)                                                                          \
  template void PixelMoments(size_t, size_t, const T*, double*, double*);                         \
  template void PixelAffine(size_t, size_t, const AccumulatorType<T>*, const AccumulatorType<T>*, \
                            const T*, T*);                                                        \
  template void PixelAffineTwice(size_t, size_t, const AccumulatorType<T>*,                       \
                                 const AccumulatorType<T>*, const AccumulatorType<T>*,            \
                                 const AccumulatorType<T>*, const T*, T*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_OF_TYPE)
#undef CAFFE_OF_TYPE

#define CAFFE_OF_PAIR(Z, X)                                                           \
  template void SumsOverPixels(size_t, size_t, const X*, const Z*, double*, double*); \
  template void PixelCombine(size_t, size_t, const AccumulatorType<X>*, const X*,     \
                             const AccumulatorType<X>*, const Z*, const AccumulatorType<X>*, X*);
CAFFE_FOR_EACH_PAIR(CAFFE_OF_PAIR)
#undef CAFFE_OF_PAIR

}  // namespace caffe::kernels
