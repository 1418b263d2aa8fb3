#include "caffe/kernels/roi_pooling.hpp"

#include <limits>
#include <memory>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

// All loops go over the planes of the map first: each is widened once, and gradients of overlapping
// regions are added by one thread in the order of the regions.

template <typename T>
using Wide = std::unique_ptr<AccumulatorType<T>[]>;

template <typename T>
constexpr bool kIsWide = std::is_same<AccumulatorType<T>, T>::value;

template <typename T>
Wide<T> WidePlane(size_t n) {
  return Wide<T>(kIsWide<T> ? nullptr : new AccumulatorType<T>[n]);
}

/// Calls f(item, channel, plane) for all planes of x, in the type of sums.
template <typename T, typename Function>
void ForEachRoiPlane(const RoiShape& s, const T* x, Function&& f) {
  ParallelFor(s.items * s.channels, 1, [&](size_t begin, size_t end) {
    Wide<T> wide = WidePlane<T>(s.plane());
    for (size_t p = begin; p < end; ++p) {
      const T* plane = x + p * s.plane();
      if constexpr (kIsWide<T>) {
        f(p / s.channels, p % s.channels, plane);
      } else {
        Convert(s.plane(), plane, wide.get());
        f(p / s.channels, p % s.channels, const_cast<const AccumulatorType<T>*>(wide.get()));
      }
    }
  });
}

/// The same for planes that f accumulates into, initially zero.
template <typename D, typename Function>
void ForEachGradientPlane(const RoiShape& s, D* dx, Function&& f) {
  using F = AccumulatorType<D>;
  ParallelFor(s.items * s.channels, 1, [&](size_t begin, size_t end) {
    Wide<D> wide = WidePlane<D>(s.plane());
    for (size_t p = begin; p < end; ++p) {
      D* plane = dx + p * s.plane();
      F* sums;
      if constexpr (kIsWide<D>) {
        sums = plane;
      } else {
        sums = wide.get();
      }
      std::fill_n(sums, s.plane(), F(0));
      f(p / s.channels, p % s.channels, sums);
      if constexpr (!kIsWide<D>) Convert(s.plane(), wide.get(), plane);
    }
  });
}

/// Calls f(roi, h, w, output) for each bin computed from this plane; `output` is its index.
template <typename Function>
void ForEachBin(const RoiShape& s, const std::vector<RoiBins>& rois, bool position_sensitive,
                size_t item, size_t channel, Function&& f) {
  const size_t planes = position_sensitive ? s.channels / s.bins() : s.channels;
  const size_t plane = position_sensitive ? channel / s.bins() : channel;
  const size_t first = position_sensitive ? channel % s.bins() : 0;
  const size_t last = position_sensitive ? first + 1 : s.bins();
  for (size_t r = 0; r < rois.size(); ++r) {
    if (rois[r].item != item) continue;
    for (size_t bin = first; bin < last; ++bin) {
      f(rois[r], bin / s.pooled_width, bin % s.pooled_width, (r * planes + plane) * s.bins() + bin);
    }
  }
}

}  // namespace

template <typename T>
void RoiMaxForward(const RoiShape& s, const std::vector<RoiBins>& rois, const T* x, T* y,
                   int* index) {
  using F = AccumulatorType<T>;
  ForEachRoiPlane(s, x, [&](size_t item, size_t channel, const F* plane) {
    ForEachBin(s, rois, false, item, channel,
               [&](const RoiBins& roi, size_t bin_h, size_t bin_w, size_t output) {
                 const Taps &rows = roi.rows[bin_h], &columns = roi.columns[bin_w];
                 F best = -std::numeric_limits<F>::max();
                 int where = -1;
                 for (int h = rows.begin; h < rows.end(); ++h) {
                   for (int w = columns.begin; w < columns.end(); ++w) {
                     const F value = plane[h * s.width + w];
                     if (value > best) {
                       best = value;
                       where = h * s.width + w;
                     }
                   }
                 }
                 const bool empty = rows.weight.empty() || columns.weight.empty();
                 y[output] = static_cast<T>(empty ? F(0) : best);
                 if (index) index[output] = where;
               });
  });
}

template <typename D>
void RoiMaxBackward(const RoiShape& s, const std::vector<RoiBins>& rois, const D* dy,
                    const int* index, D* dx) {
  using F = AccumulatorType<D>;
  ForEachGradientPlane(s, dx, [&](size_t item, size_t channel, F* plane) {
    ForEachBin(s, rois, false, item, channel, [&](const RoiBins&, size_t, size_t, size_t output) {
      if (index[output] >= 0) plane[index[output]] += static_cast<F>(dy[output]);
    });
  });
}

template <typename T>
void RoiSumForward(const RoiShape& s, const std::vector<RoiBins>& rois, bool position_sensitive,
                   const T* x, T* y) {
  using F = AccumulatorType<T>;
  ForEachRoiPlane(s, x, [&](size_t item, size_t channel, const F* plane) {
    ForEachBin(s, rois, position_sensitive, item, channel,
               [&](const RoiBins& roi, size_t bin_h, size_t bin_w, size_t output) {
                 const Taps &rows = roi.rows[bin_h], &columns = roi.columns[bin_w];
                 F sum = 0;
                 for (int h = rows.begin; h < rows.end(); ++h) {
                   const F* row = plane + size_t(h) * s.width + columns.begin;
                   F row_sum = 0;
                   for (size_t w = 0; w < columns.weight.size(); ++w) {
                     row_sum += columns.weight[w] * row[w];
                   }
                   sum += rows.weight[h - rows.begin] * row_sum;
                 }
                 y[output] = static_cast<T>(sum);
               });
  });
}

template <typename D>
void RoiSumBackward(const RoiShape& s, const std::vector<RoiBins>& rois, bool position_sensitive,
                    const D* dy, D* dx) {
  using F = AccumulatorType<D>;
  ForEachGradientPlane(s, dx, [&](size_t item, size_t channel, F* plane) {
    ForEachBin(s, rois, position_sensitive, item, channel,
               [&](const RoiBins& roi, size_t bin_h, size_t bin_w, size_t output) {
                 const Taps &rows = roi.rows[bin_h], &columns = roi.columns[bin_w];
                 for (int h = rows.begin; h < rows.end(); ++h) {
                   F* row = plane + size_t(h) * s.width + columns.begin;
                   const F share = static_cast<F>(dy[output]) * rows.weight[h - rows.begin];
                   for (size_t w = 0; w < columns.weight.size(); ++w) {
                     row[w] += columns.weight[w] * share;
                   }
                 }
               });
  });
}

#define CAFFE_ROI_POOLING(T)                                                                       \
  template void RoiMaxForward(const RoiShape&, const std::vector<RoiBins>&, const T*, T*, int*);   \
  template void RoiMaxBackward(const RoiShape&, const std::vector<RoiBins>&, const T*, const int*, \
                               T*);                                                                \
  template void RoiSumForward(const RoiShape&, const std::vector<RoiBins>&, bool, const T*, T*);   \
  template void RoiSumBackward(const RoiShape&, const std::vector<RoiBins>&, bool, const T*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_ROI_POOLING)
#undef CAFFE_ROI_POOLING

}  // namespace caffe::kernels
