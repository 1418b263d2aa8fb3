#include "caffe/kernels/pooling.hpp"

#include <limits>
#include <memory>

#include "chunks.hpp"

namespace caffe {
namespace kernels {
namespace {

/// A window on the plane: [h_begin, h_end) x [w_begin, w_end), and what averages divide by.
struct Window {
  int h_begin, h_end, w_begin, w_end;
  int divisor;
};

Window WindowAt(const PoolingShape& s, int ph, int pw) {
  const int h = ph * s.stride_h - s.pad_h, w = pw * s.stride_w - s.pad_w;
  const int h_end = std::min(h + s.kernel_h, s.height + s.pad_h);
  const int w_end = std::min(w + s.kernel_w, s.width + s.pad_w);
  return {std::max(h, 0), std::min(h_end, s.height), std::max(w, 0), std::min(w_end, s.width),
          (h_end - h) * (w_end - w)};
}

template <typename Function>
void ForEachWindow(const PoolingShape& s, Function&& f) {
  size_t output = 0;
  for (int ph = 0; ph < s.pooled_height; ++ph) {
    for (int pw = 0; pw < s.pooled_width; ++pw) f(WindowAt(s, ph, pw), output++);
  }
}

template <typename F>
using Plane = std::unique_ptr<F[]>;

template <typename F, typename T>
Plane<F> PlaneIfWidened(size_t n) {
  return Plane<F>(std::is_same<F, T>::value ? nullptr : new F[n]);
}

/// Calls f(plane, x of the plane, y of the plane) for all planes; both as F, y is written.
template <typename T, typename Function>
void ForEachPlane(size_t planes, size_t inputs, size_t outputs, const T* x, T* y, Function&& f) {
  using F = AccumulatorType<T>;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, inputs));
  ParallelFor(planes, grain, [&](size_t begin, size_t end) {
    Plane<F> wide_x = PlaneIfWidened<F, T>(inputs), wide_y = PlaneIfWidened<F, T>(outputs);
    for (size_t plane = begin; plane < end; ++plane) {
      if constexpr (std::is_same<F, T>::value) {
        f(plane, x + plane * inputs, y + plane * outputs);
      } else {
        Convert(inputs, x + plane * inputs, wide_x.get());
        f(plane, static_cast<const F*>(wide_x.get()), wide_y.get());
        Convert(outputs, wide_y.get(), y + plane * outputs);
      }
    }
  });
}

}  // namespace

template <typename T>
void MaxPoolingForward(const PoolingShape& s, const T* x, T* y, int* index) {
  using F = AccumulatorType<T>;
  ForEachPlane(s.planes, s.input_plane(), s.output_plane(), x, y,
               [&](size_t plane, const F* in, F* out) {
                 int* plane_index = index ? index + plane * s.output_plane() : nullptr;
                 ForEachWindow(s, [&](const Window& window, size_t o) {
                   F best = -std::numeric_limits<F>::max();
                   int where = -1;
                   for (int h = window.h_begin; h < window.h_end; ++h) {
                     for (int w = window.w_begin; w < window.w_end; ++w) {
                       const F value = in[h * s.width + w];
                       if (value > best) {
                         best = value;
                         where = h * s.width + w;
                       }
                     }
                   }
                   out[o] = best;
                   if (plane_index) plane_index[o] = where;
                 });
               });
}

template <typename D>
void MaxPoolingBackward(const PoolingShape& s, const D* dy, const int* index, D* dx) {
  using F = AccumulatorType<D>;
  ForEachPlane(s.planes, s.output_plane(), s.input_plane(), dy, dx,
               [&](size_t plane, const F* in, F* out) {
                 std::fill_n(out, s.input_plane(), F(0));
                 const int* where = index + plane * s.output_plane();
                 for (size_t o = 0; o < s.output_plane(); ++o) {
                   if (where[o] >= 0) out[where[o]] += in[o];
                 }
               });
}

template <typename T>
void AveragePoolingForward(const PoolingShape& s, const T* x, T* y) {
  using F = AccumulatorType<T>;
  ForEachPlane(s.planes, s.input_plane(), s.output_plane(), x, y, [&](size_t, const F* in, F* out) {
    ForEachWindow(s, [&](const Window& window, size_t o) {
      F sum = 0;
      for (int h = window.h_begin; h < window.h_end; ++h) {
        for (int w = window.w_begin; w < window.w_end; ++w) sum += in[h * s.width + w];
      }
      out[o] = sum / window.divisor;
    });
  });
}

template <typename D>
void AveragePoolingBackward(const PoolingShape& s, const D* dy, D* dx) {
  using F = AccumulatorType<D>;
  ForEachPlane(s.planes, s.output_plane(), s.input_plane(), dy, dx,
               [&](size_t, const F* in, F* out) {
                 std::fill_n(out, s.input_plane(), F(0));
                 ForEachWindow(s, [&](const Window& window, size_t o) {
                   const F share = in[o] / window.divisor;
                   for (int h = window.h_begin; h < window.h_end; ++h) {
                     for (int w = window.w_begin; w < window.w_end; ++w)
                       out[h * s.width + w] += share;
                   }
                 });
               });
}

#define CAFFE_POOLING(T)                                                           \
  template void MaxPoolingForward(const PoolingShape&, const T*, T*, int*);        \
  template void MaxPoolingBackward(const PoolingShape&, const T*, const int*, T*); \
  template void AveragePoolingForward(const PoolingShape&, const T*, T*);          \
  template void AveragePoolingBackward(const PoolingShape&, const T*, T*)
CAFFE_POOLING(float);
CAFFE_POOLING(double);
CAFFE_POOLING(float16);
#undef CAFFE_POOLING

}  // namespace kernels
}  // namespace caffe
