#include "caffe/kernels/blocked_channels.hpp"

#include <algorithm>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/elementwise/pixel_rows.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {
namespace {

/// The planes (inner, block) of an array: pixels of so many channels, whose rows are the same in
/// all of them.
struct Planes {
  explicit Planes(const BlockedChannels& s)
      : shape(s),
        blocks(CeilDiv(s.channels, s.block)),
        size(s.inner * s.block),
        rows(s.inner, s.block) {}
  /// Values of channels as in a row of each block, 0 in the padding and if they are null.
  std::vector<float> OfRows(const float* values) const {
    std::vector<float> result(blocks * rows.period, 0.f);
    for (size_t i = 0; values && i < result.size(); ++i) {
      const size_t channel = i / rows.period * shape.block + i % shape.block;
      if (channel < shape.channels) result[i] = values[channel];
    }
    return result;
  }

  BlockedChannels shape;
  size_t blocks, size;
  PixelRows rows;
};

/// Calls f(rows, numbers of a row, offset in OfRows, offset) for the parts of all planes, spread
/// over threads.
template <typename Function>
void ForEachPlanePart(const Planes& s, Function&& f) {
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, s.size));
  ParallelFor(s.shape.outer * s.blocks, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t of_rows = i % s.blocks * s.rows.period, first = i * s.size;
      f(s.rows.rows, s.rows.period, of_rows, first);
      if (s.rows.rest > 0) f(1, s.rows.rest, of_rows, first + s.rows.offset_of_rest());
    }
  });
}

/// Groups of images whose sums are taken apart: as many as the sizes alone determine.
size_t Groups(const Planes& s) {
  const size_t most =
      std::min(s.shape.outer, std::max<size_t>(1, kMaxSegments / std::max<size_t>(1, s.blocks)));
  return std::clamp<size_t>(s.shape.outer * s.size / kLoopGrain, 1, std::max<size_t>(1, most));
}

/// Calls f(block and group, the image among the group's, offset) for the plane of each image in the
/// order of images; blocks and groups are spread over threads.
template <typename Function>
void ForEachPlane(const Planes& s, size_t groups, Function&& f) {
  ParallelFor(s.blocks * groups, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t block = i / groups, group = i % groups;
      const size_t first = s.shape.outer * group / groups;
      const size_t last = s.shape.outer * (group + 1) / groups;
      for (size_t n = first; n < last; ++n) f(i, n - first, (n * s.blocks + block) * s.size);
    }
  });
}

/// Calls f(c, the block and group's index, place) for the places of a row that belong to channel c,
/// `places` of each block.
template <typename Function>
void ForEachPlace(const Planes& s, size_t groups, size_t places, Function&& f) {
  for (size_t i = 0; i < s.blocks * groups; ++i) {
    for (size_t k = 0; k < places; ++k) {
      const size_t channel = i / groups * s.shape.block + k % s.shape.block;
      if (channel < s.shape.channels) f(channel, i, k);
    }
  }
}

}  // namespace

template <typename T>
void BlockedMoments(const BlockedChannels& shape, const T* x, double* mean, double* variance) {
  const Planes s(shape);
  const PixelRows& rows = s.rows;
  const size_t groups = Groups(s), period = rows.period;
  const auto add = ChosenKernels().channels.moments[StorageOf<T>()];
  std::vector<double> moments(s.blocks * groups * 4 * period, 0.);  // of rows, and of the rest
  std::vector<float> scratch(s.blocks * groups * 3 * period);
  ForEachPlane(s, groups, [&](size_t i, size_t before, size_t offset) {
    double* own = moments.data() + i * 4 * period;
    float* space = scratch.data() + i * 3 * period;
    add(rows.rows, period, x + offset, before * rows.rows, space, own, own + period);
    if (rows.rest == 0) return;
    own += 2 * period;
    add(1, rows.rest, x + offset + rows.offset_of_rest(), before, space, own, own + period);
  });
  std::vector<ValueMoments> total(shape.channels);
  const auto merge = [&](size_t first, size_t places, size_t values_of_image) {
    ForEachPlace(s, groups, places, [&](size_t c, size_t i, size_t k) {
      const size_t group = i % groups;
      const size_t images = shape.outer * (group + 1) / groups - shape.outer * group / groups;
      const double* own = moments.data() + i * 4 * period + first + k;
      total[c].Add({double(images * values_of_image), own[0], own[period]});
    });
  };
  merge(0, period, rows.rows);
  merge(2 * period, rows.rest, 1);
  for (size_t c = 0; c < shape.channels; ++c) {
    mean[c] = total[c].mean;
    variance[c] = total[c].count > 0 ? total[c].squares / total[c].count : 0;
  }
}

template <typename X, typename Z>
void BlockedSums(const BlockedChannels& shape, const X* x, const Z* z, double* sum, double* dot) {
  if (sum) std::fill_n(sum, shape.channels, 0.);
  if (dot) std::fill_n(dot, shape.channels, 0.);
  if (!sum && !dot) return;
  const Planes s(shape);
  const size_t groups = Groups(s), period = s.rows.period;
  const ChannelLoops& loops = ChosenKernels().channels;
  std::vector<double> places(s.blocks * groups * 2 * period, 0.);
  std::vector<float> scratch(s.blocks * groups * 2 * period);
  ForEachPlane(s, groups, [&](size_t i, size_t, size_t offset) {
    double* own = places.data() + i * 2 * period;
    float* space = scratch.data() + i * 2 * period;
    const auto add = [&](size_t rows, size_t n, size_t at) {
      if (dot) {
        const auto both = loops.sums[StorageOf<X>()][StorageOf<Z>()];
        both(rows, n, x + at, z + at, space, own, own + period);
      } else {
        loops.sum[StorageOf<X>()](rows, n, x + at, space, own);
      }
    };
    add(s.rows.rows, period, offset);
    if (s.rows.rest > 0) add(1, s.rows.rest, offset + s.rows.offset_of_rest());
  });
  ForEachPlace(s, groups, period, [&](size_t c, size_t i, size_t k) {
    const double* own = places.data() + i * 2 * period + k;
    if (sum) sum[c] += own[0];
    if (dot) dot[c] += own[period];
  });
}

template <typename T>
void BlockedAffine(const BlockedChannels& shape, const float* a, const float* b, const T* x, T* y) {
  const Planes s(shape);
  const std::vector<float> factor = s.OfRows(a), term = s.OfRows(b);
  const auto affine = ChosenKernels().channels.affine[StorageOf<T>()];
  ForEachPlanePart(s, [&](size_t rows, size_t n, size_t values, size_t at) {
    affine(rows, n, factor.data() + values, term.data() + values, x + at, y + at);
  });
}

template <typename T>
void BlockedAffineTwice(const BlockedChannels& shape, const float* a, const float* b,
                        const float* c, const float* d, const T* x, T* y, T* z) {
  const Planes s(shape);
  const std::vector<float> of[4] = {s.OfRows(a), s.OfRows(b), s.OfRows(c), s.OfRows(d)};
  const auto affine = ChosenKernels().channels.affine_twice[StorageOf<T>()];
  ForEachPlanePart(s, [&](size_t rows, size_t n, size_t values, size_t at) {
    affine(rows, n, of[0].data() + values, of[1].data() + values, of[2].data() + values,
           of[3].data() + values, x + at, y + at, z + at);
  });
}

template <typename Z, typename X>
void BlockedCombine(const BlockedChannels& shape, const float* a, const X* x, const float* b,
                    const Z* z, const float* d, X* y) {
  const Planes s(shape);
  const std::vector<float> factor = s.OfRows(a), other = s.OfRows(b), term = s.OfRows(d);
  const auto combine = ChosenKernels().channels.combine[StorageOf<X>()][StorageOf<Z>()];
  ForEachPlanePart(s, [&](size_t rows, size_t n, size_t values, size_t at) {
    combine(rows, n, factor.data() + values, x + at, other.data() + values, z + at,
            term.data() + values, y + at);
  });
}

#define CAFFE_OF_TYPE(T)                                                                         \
  template void BlockedMoments(const BlockedChannels&, const T*, double*, double*);              \
  template void BlockedAffine(const BlockedChannels&, const float*, const float*, const T*, T*); \
  template void BlockedAffineTwice(const BlockedChannels&, const float*, const float*,           \
                                   const float*, const float*, const T*, T*, T*)
CAFFE_OF_TYPE(float);
CAFFE_OF_TYPE(float16);
#undef CAFFE_OF_TYPE

#define CAFFE_OF_PAIR(Z, X)                                                                  \
  template void BlockedSums(const BlockedChannels&, const X*, const Z*, double*, double*);   \
  template void BlockedCombine(const BlockedChannels&, const float*, const X*, const float*, \
                               const Z*, const float*, X*)
CAFFE_OF_PAIR(float, float);
CAFFE_OF_PAIR(float, float16);
CAFFE_OF_PAIR(float16, float);
CAFFE_OF_PAIR(float16, float16);
#undef CAFFE_OF_PAIR

}  // namespace caffe::kernels
