#include "caffe/kernels/batch_norm.hpp"

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

/// Calls f(c, length, offset) for the pieces of the channels' rows, several threads taking some
/// channels each.
template <typename Function>
void ForEachPiece(size_t outer, size_t channels, size_t inner, size_t begin, size_t end,
                  Function&& f) {
  for (size_t c = begin; c < end; ++c) {
    for (size_t n = 0; n < outer; ++n) {
      const size_t row = (n * channels + c) * inner;
      for (size_t start = 0; start < inner; start += kChunk) {
        f(c, std::min(kChunk, inner - start), row + start);
      }
    }
  }
}

/// Channels are the fastest axis: whole rows are added.
template <typename T>
void MomentsOfColumns(size_t outer, size_t channels, size_t begin, size_t end, const T* x,
                      double* mean, double* variance) {
  using F = LoopType<T>;
  for (size_t first = begin; first < end; first += kChunk) {
    const size_t length = std::min(kChunk, end - first);
    double* m = mean + first;
    double* v = variance + first;
    InputChunk<F, T> in;
    std::fill_n(m, length, 0.);
    std::fill_n(v, length, 0.);
    for (size_t n = 0; n < outer; ++n) {
      const F* row = in.Load(x + n * channels + first, length);
      for (size_t i = 0; i < length; ++i) m[i] += row[i];
    }
    for (size_t i = 0; i < length; ++i) m[i] /= outer;
    for (size_t n = 0; n < outer; ++n) {
      const F* row = in.Load(x + n * channels + first, length);
      for (size_t i = 0; i < length; ++i) v[i] += (row[i] - m[i]) * (row[i] - m[i]);
    }
    for (size_t i = 0; i < length; ++i) v[i] /= outer;
  }
}

template <typename T>
void MomentsOfRows(size_t outer, size_t channels, size_t inner, size_t begin, size_t end,
                   const T* x, double* mean, double* variance) {
  using F = LoopType<T>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  const double count = double(outer) * inner;
  std::fill(mean + begin, mean + end, 0.);
  std::fill(variance + begin, variance + end, 0.);
  InputChunk<F, T> in;
  ForEachPiece(outer, channels, inner, begin, end, [&](size_t c, size_t length, size_t offset) {
    mean[c] += loops.sum(length, in.Load(x + offset, length));
  });
  for (size_t c = begin; c < end; ++c) mean[c] /= count;
  F centered[kChunk];
  ForEachPiece(outer, channels, inner, begin, end, [&](size_t c, size_t length, size_t offset) {
    loops.affine(length, F(1), static_cast<F>(-mean[c]), in.Load(x + offset, length), centered);
    variance[c] += loops.square_sum(length, centered);
  });
  for (size_t c = begin; c < end; ++c) variance[c] /= count;
}

}  // namespace

template <typename T>
void ChannelMoments(size_t outer, size_t channels, size_t inner, const T* x, double* mean,
                    double* variance) {
  const size_t work = std::max<size_t>(1, outer * inner);
  ParallelFor(channels, std::max<size_t>(1, kLoopGrain / work), [&](size_t begin, size_t end) {
    if (inner == 1) {
      MomentsOfColumns(outer, channels, begin, end, x, mean, variance);
    } else {
      MomentsOfRows(outer, channels, inner, begin, end, x, mean, variance);
    }
  });
}

template <typename Z, typename X>
void ChannelCombine(size_t outer, size_t channels, size_t inner, const AccumulatorType<X>* a,
                    const X* x, const AccumulatorType<X>* b, const Z* z,
                    const AccumulatorType<X>* d, X* y) {
  using F = LoopType<X, Z>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  const auto rows = [&](size_t begin, size_t end) {
    InputChunk<F, X> left;
    InputChunk<F, Z> right;
    F sums[kChunk];
    for (size_t row = begin; row < end; ++row) {
      const size_t c = row % channels;
      for (size_t start = 0; start < inner; start += kChunk) {
        const size_t length = std::min(kChunk, inner - start), offset = row * inner + start;
        loops.affine(length, a[c], d[c], left.Load(x + offset, length), sums);
        loops.axpby(length, b[c], right.Load(z + offset, length), F(1), sums);
        Convert(length, sums, y + offset);
      }
    }
  };
  const auto columns = [&](size_t begin, size_t end) {
    InputChunk<F, X> left;
    InputChunk<F, Z> right;
    F sums[kChunk], products[kChunk];
    for (size_t n = begin; n < end; ++n) {
      for (size_t first = 0; first < channels; first += kChunk) {
        const size_t length = std::min(kChunk, channels - first), offset = n * channels + first;
        loops.multiply_add(length, a + first, left.Load(x + offset, length), d + first, sums);
        loops.multiply(length, b + first, right.Load(z + offset, length), products);
        loops.add(length, sums, products, sums);
        Convert(length, sums, y + offset);
      }
    }
  };
  if (inner == 1) {
    ParallelFor(outer, std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, channels)), columns);
  } else {
    ParallelFor(outer * channels, std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, inner)),
                rows);
  }
}

template void ChannelMoments(size_t, size_t, size_t, const float*, double*, double*);
template void ChannelMoments(size_t, size_t, size_t, const double*, double*, double*);
template void ChannelMoments(size_t, size_t, size_t, const float16*, double*, double*);

#define CAFFE_COMBINE(Z, X)                                                                    \
  template void ChannelCombine(size_t, size_t, size_t, const AccumulatorType<X>*, const X*,    \
                               const AccumulatorType<X>*, const Z*, const AccumulatorType<X>*, \
                               X*);
CAFFE_FOR_EACH_PAIR(CAFFE_COMBINE)
#undef CAFFE_COMBINE

}  // namespace caffe::kernels
