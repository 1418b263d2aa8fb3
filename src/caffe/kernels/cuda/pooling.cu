#include "caffe/kernels/cuda/pooling.hpp"

#include <cstdint>
#include <type_traits>

#include "caffe/kernels/instances.hpp"
#include "launch.hpp"
#include "pooling_windows.hpp"

namespace caffe::cuda {
namespace {

/// The windows along one axis that cover a place: [begin, end).
struct Covering {
  int begin, end;
  __host__ __device__ Covering(int at, int kernel, int stride, int pad, int pooled)
      : begin(at + pad < kernel ? 0 : (at + pad - kernel) / stride + 1),
        end(Min((at + pad) / stride + 1, pooled)) {}
};

/// dx[i] = the sum of term(o, window, h, w) over the outputs o whose windows cover place i, (h, w)
/// of its plane.
template <typename D, typename Term>
void GatherWindows(Stream& stream, const kernels::PoolingShape& shape, int channels, Term term,
                   D* dx) {
  const Pool pool(shape);
  ForEach(stream, static_cast<int>(shape.planes * shape.input_plane()) * channels,
          [=] __host__ __device__(int i) {
            const int channel = i % channels, place = i / channels;
            const int w = place % pool.width, h = place / pool.width % pool.height;
            const int plane = place / pool.width / pool.height;
            const Covering rows(h, pool.kernel_h, pool.stride_h, pool.pad_h, pool.pooled_height);
            const Covering columns(w, pool.kernel_w, pool.stride_w, pool.pad_w, pool.pooled_width);
            Math<D> sum = 0;
            for (int ph = rows.begin; ph < rows.end; ++ph) {
              for (int pw = columns.begin; pw < columns.end; ++pw) {
                const int o = (plane * pool.pooled_height + ph) * pool.pooled_width + pw;
                sum += term(o * channels + channel, pool.WindowAt(ph, pw), h, w);
              }
            }
            Store(dx + i, sum);
          });
}

template <typename I>
constexpr I kNone = std::is_same<I, uint8_t>::value ? I(255) : I(-1);

int Outputs(const kernels::PoolingShape& s) {
  return static_cast<int>(s.planes * s.output_plane());
}

}  // namespace

template <typename T, typename I>
void MaxPoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x, T* y,
                       I* mask, int channels) {
  using F = Math<T>;
  const Pool pool(shape);
  const F lowest = static_cast<F>(std::numeric_limits<T>::lowest());
  const I none = kNone<I>;
  ForEach(stream, Outputs(shape) * channels, [=] __host__ __device__(int o) {
    const int place = o / channels;
    const Window window = pool.WindowOf(place);
    const T* plane = x + pool.PlaneOf(place) * channels + o % channels;
    F best = lowest;
    I where = none;
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) {
        const F value = Load(plane + (h * pool.width + w) * channels);
        if (value > best) {
          best = value;
          where = static_cast<I>(pool.PositionIn(window, h, w));
        }
      }
    }
    Store(y + o, best);
    if (mask) mask[o] = where;
  });
}

template <typename T, typename I>
void StochasticPoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x,
                              const float* draws, T* y, I* mask) {
  using F = Math<T>;
  const Pool pool(shape);
  const I none = kNone<I>;
  ForEach(stream, Outputs(shape), [=] __host__ __device__(int o) {
    const Window window = pool.WindowOf(o);
    const T* plane = x + pool.PlaneOf(o);
    F sum = 0;
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) sum += Load(plane + h * pool.width + w);
    }
    const F threshold = static_cast<F>(draws[o]) * sum;
    F so_far = 0, value = 0;
    I where = none;
    bool found = false;
    for (int h = window.h_begin; h < window.h_end && !found; ++h) {
      for (int w = window.w_begin; w < window.w_end && !found; ++w) {
        value = Load(plane + h * pool.width + w);
        where = static_cast<I>(pool.PositionIn(window, h, w));
        so_far += value;
        found = so_far >= threshold;
      }
    }
    Store(y + o, value);
    mask[o] = where;
  });
}

template <typename T>
void ExpectedPoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x, T* y) {
  using F = Math<T>;
  const Pool pool(shape);
  ForEach(stream, Outputs(shape), [=] __host__ __device__(int o) {
    const Window window = pool.WindowOf(o);
    const T* plane = x + pool.PlaneOf(o);
    F sum = 0, squares = 0;
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) {
        const F value = Load(plane + h * pool.width + w);
        sum += value;
        squares += value * value;
      }
    }
    Store(y + o, sum > 0 ? squares / sum : F(0));
  });
}

template <typename D, typename I>
void MaskPoolingBackward(Stream& stream, const kernels::PoolingShape& shape, const D* dy,
                         const I* mask, D* dx, int channels) {
  const Pool pool(shape);
  GatherWindows(
      stream, shape, channels,
      [=] __host__ __device__(int o, const Window& window, int h, int w) {
        return mask[o] == static_cast<I>(pool.PositionIn(window, h, w)) ? Load(dy + o) : Math<D>(0);
      },
      dx);
}

template <typename I, typename Dtype>
void MaskPositions(Stream& stream, const kernels::PoolingShape& shape, const I* mask,
                   Dtype* positions) {
  const Pool pool(shape);
  const I none = kNone<I>;
  ForEach(stream, Outputs(shape), [=] __host__ __device__(int o) {
    const Window window = pool.WindowOf(o);
    const int h = window.h + mask[o] / pool.kernel_w, w = window.w + mask[o] % pool.kernel_w;
    positions[o] = static_cast<Dtype>(mask[o] == none ? -1 : h * pool.width + w);
  });
}

template <typename T>
void AveragePoolingForward(Stream& stream, const kernels::PoolingShape& shape, const T* x, T* y,
                           int channels) {
  using F = Math<T>;
  const Pool pool(shape);
  const int plane_size = static_cast<int>(shape.input_plane());
  const Window first = pool.WindowAt(0, 0);
  if (shape.output_plane() == 1 && channels == 1 &&
      (first.h_end - first.h_begin) * (first.w_end - first.w_begin) == plane_size) {
    // Global pooling: a block of threads for each plane.
    const int divisor = first.divisor;
    SumRows<F>(
        stream, static_cast<int>(shape.planes), plane_size,
        [=] __host__ __device__(int plane, int i) {
          return static_cast<F>(Load(x + plane * plane_size + i));
        },
        [=] __host__ __device__(int plane, F sum) { Store(y + plane, sum / divisor); });
    return;
  }
  ForEach(stream, Outputs(shape) * channels, [=] __host__ __device__(int o) {
    const int place = o / channels;
    const Window window = pool.WindowOf(place);
    const T* plane = x + pool.PlaneOf(place) * channels + o % channels;
    F sum = 0;
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) {
        sum += Load(plane + (h * pool.width + w) * channels);
      }
    }
    Store(y + o, sum / window.divisor);
  });
}

template <typename D>
void AveragePoolingBackward(Stream& stream, const kernels::PoolingShape& shape, const D* dy, D* dx,
                            int channels) {
  GatherWindows(
      stream, shape, channels,
      [=] __host__ __device__(int o, const Window& window, int, int) {
        return static_cast<Math<D>>(Load(dy + o)) / window.divisor;
      },
      dx);
}

#define INSTANTIATE_MASK(T, I)                                                                     \
  template void MaxPoolingForward(Stream&, const kernels::PoolingShape&, const T*, T*, I*, int);   \
  template void StochasticPoolingForward(Stream&, const kernels::PoolingShape&, const T*,          \
                                         const float*, T*, I*);                                    \
  template void MaskPoolingBackward(Stream&, const kernels::PoolingShape&, const T*, const I*, T*, \
                                    int);
#define INSTANTIATE(T)                                                                           \
  INSTANTIATE_MASK(T, uint8_t)                                                                   \
  INSTANTIATE_MASK(T, int)                                                                       \
  template void ExpectedPoolingForward(Stream&, const kernels::PoolingShape&, const T*, T*);     \
  template void AveragePoolingForward(Stream&, const kernels::PoolingShape&, const T*, T*, int); \
  template void AveragePoolingBackward(Stream&, const kernels::PoolingShape&, const T*, T*, int);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE
#undef INSTANTIATE_MASK

#define INSTANTIATE(I)                                                                  \
  template void MaskPositions(Stream&, const kernels::PoolingShape&, const I*, float*); \
  template void MaskPositions(Stream&, const kernels::PoolingShape&, const I*, double*);
INSTANTIATE(uint8_t)
INSTANTIATE(int)
#undef INSTANTIATE

}  // namespace caffe::cuda
