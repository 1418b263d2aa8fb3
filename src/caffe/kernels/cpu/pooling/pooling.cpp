#include "caffe/kernels/pooling.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "caffe/kernels/cpu/convolution/planes.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

/// A window on the plane: it begins at (h, w), perhaps in the padding, and covers [h_begin, h_end)
/// x [w_begin, w_end) of the image; averages divide by `divisor`.
struct Window {
  int h, w;
  int h_begin, h_end, w_begin, w_end;
  int64_t divisor;
};

Window WindowAt(const PoolingShape& s, int ph, int pw) {
  const int h = ph * s.stride_h - s.pad_h, w = pw * s.stride_w - s.pad_w;
  const int h_end = std::min(h + s.kernel_h, s.height + s.pad_h);
  const int w_end = std::min(w + s.kernel_w, s.width + s.pad_w);
  return {h,
          w,
          std::max(h, 0),
          std::min(h_end, s.height),
          std::max(w, 0),
          std::min(w_end, s.width),
          int64_t(h_end - h) * (w_end - w)};
}

template <typename Function>
void ForEachWindow(const PoolingShape& s, Function&& f) {
  size_t output = 0;
  for (int ph = 0; ph < s.pooled_height; ++ph) {
    for (int pw = 0; pw < s.pooled_width; ++pw) f(WindowAt(s, ph, pw), output++);
  }
}

/// Calls f(h, w) for the elements of a window until f returns true.
template <typename Function>
void ForEachElement(const Window& window, Function&& f) {
  for (int h = window.h_begin; h < window.h_end; ++h) {
    for (int w = window.w_begin; w < window.w_end; ++w) {
      if (f(h, w)) return;
    }
  }
}

template <typename I>
constexpr I kNone = std::is_same<I, uint8_t>::value ? I(255) : I(-1);

template <typename I>
I PositionIn(const PoolingShape& s, const Window& window, int h, int w) {
  return static_cast<I>((h - window.h) * s.kernel_w + (w - window.w));
}

/// For windows reduced by `combine(n, row, sums, sums)` over rows and `element(sum, value)` over
/// columns, from `start` on: rows first, whole rows of the image at once. `finish(sum, window)` is
/// the output.
template <typename F, typename Combine, typename Element, typename Finish>
void PoolRowsThenColumns(const PoolingShape& s, F start, const F* x, F* y, F* row, Combine combine,
                         Element&& element, Finish&& finish) {
  for (int ph = 0; ph < s.pooled_height; ++ph) {
    const Window rows = WindowAt(s, ph, 0);
    std::fill_n(row, s.width, start);
    for (int h = rows.h_begin; h < rows.h_end; ++h) {
      combine(s.width, x + size_t(h) * s.width, row, row);
    }
    for (int pw = 0; pw < s.pooled_width; ++pw) {
      const Window window = WindowAt(s, ph, pw);
      F sum = start;
      for (int w = window.w_begin; w < window.w_end; ++w) sum = element(sum, row[w]);
      *y++ = finish(sum, window);
    }
  }
}

/// Maxima of a plane and where they are, without branches: first over the rows of the windows, for
/// whole rows of the image at once, then over the columns of each window. Among equal numbers the
/// first one of the window, row by row, counts.
template <typename F, typename I>
class MaximaOfPlane {
 public:
  MaximaOfPlane(const PoolingShape& shape, F lowest)
      : s_(shape),
        lowest_(lowest),
        width_(std::max(shape.width + shape.pad_w,
                        (shape.pooled_width - 1) * shape.stride_w + shape.kernel_w)),
        columns_(width_, lowest),
        places_(width_),
        where_(shape.pooled_width) {}

  void Pool(const F* x, F* y, I* mask) {
    for (int ph = 0; ph < s_.pooled_height; ++ph, y += s_.pooled_width, mask += s_.pooled_width) {
      const Window rows = WindowAt(s_, ph, 0);
      F* columns = columns_.data() + s_.pad_w;  // the padding keeps the lowest number
      std::fill_n(columns, s_.width, lowest_);
      for (int h = rows.h_begin; h < rows.h_end; ++h) {
        const F* row = x + size_t(h) * s_.width;
        const F mark = static_cast<F>((h - rows.h) * s_.kernel_w);
        Loops<F>().mark_larger(s_.width, row, columns, mark, places_.data() + s_.pad_w);
        Loops<F>().maximum(s_.width, row, columns, columns);
      }
      std::fill_n(y, s_.pooled_width, lowest_);
      std::fill(where_.begin(), where_.end(), F(-1));  // less than any place
      for (int k = 0; k < s_.kernel_w; ++k) {
        Loops<F>().take_larger(s_.pooled_width, s_.stride_w, static_cast<F>(k), columns_.data() + k,
                               places_.data() + k, y, where_.data());
      }
      for (int pw = 0; pw < s_.pooled_width; ++pw) {
        mask[pw] = where_[pw] < 0 ? kNone<I> : static_cast<I>(static_cast<int>(where_[pw]));
      }
    }
  }

 private:
  const PoolingShape& s_;
  const F lowest_;
  const int width_;  // of a row with its padding, and of all windows on it
  std::vector<F> columns_, places_, where_;
};

/// The same, number by number.
template <typename F, typename I>
void MaximaOfWindows(const PoolingShape& s, F lowest, const F* x, F* y, I* mask) {
  ForEachWindow(s, [&](const Window& window, size_t o) {
    y[o] = lowest;
    mask[o] = kNone<I>;
    ForEachElement(window, [&](int h, int w) {
      const F value = x[size_t(h) * s.width + w];
      if (value > y[o]) {
        y[o] = value;
        mask[o] = PositionIn<I>(s, window, h, w);
      }
      return false;
    });
  });
}

/// True where MaximaOfPlane takes memory for little more than the image, and a float tells the
/// places in a window apart.
bool SuitsMaximaOfPlane(const PoolingShape& s) {
  constexpr int64_t kExactPlaces = int64_t(1) << 24, kBeyond = 256;
  const int64_t windows = int64_t(s.pooled_width - 1) * s.stride_w + s.kernel_w;
  return int64_t(s.kernel_h) * s.kernel_w <= kExactPlaces &&
         std::max<int64_t>(windows, s.pad_w) <= s.width + kBeyond;
}

}  // namespace

template <typename T, typename I>
void MaxPoolingForward(const PoolingShape& s, const T* x, T* y, I* mask) {
  using F = AccumulatorType<T>;
  const F lowest = static_cast<F>(std::numeric_limits<T>::lowest());
  ForEachPlane(s.planes, s.input_plane(), s.output_plane(), x, y,
               [&](size_t plane, const F* in, F* out) {
                 if (!mask) {
                   std::vector<F> row(s.width);
                   PoolRowsThenColumns(
                       s, lowest, in, out, row.data(), Loops<F>().maximum,
                       [](F best, F value) { return value > best ? value : best; },
                       [](F best, const Window&) { return best; });
                   return;
                 }
                 I* plane_mask = mask + plane * s.output_plane();
                 if (SuitsMaximaOfPlane(s)) {
                   MaximaOfPlane<F, I>(s, lowest).Pool(in, out, plane_mask);
                 } else {
                   MaximaOfWindows(s, lowest, in, out, plane_mask);
                 }
               });
}

template <typename T, typename I>
void StochasticPoolingForward(const PoolingShape& s, const T* x, const float* draws, T* y,
                              I* mask) {
  using F = AccumulatorType<T>;
  ForEachPlane(s.planes, s.input_plane(), s.output_plane(), x, y,
               [&](size_t plane, const F* in, F* out) {
                 ForEachWindow(s, [&](const Window& window, size_t o) {
                   F sum = 0;
                   ForEachElement(window, [&](int h, int w) {
                     sum += in[size_t(h) * s.width + w];
                     return false;
                   });
                   const size_t output = plane * s.output_plane() + o;
                   const F threshold = static_cast<F>(draws[output]) * sum;
                   F so_far = 0;
                   out[o] = 0;
                   mask[output] = kNone<I>;
                   ForEachElement(window, [&](int h, int w) {
                     out[o] = in[size_t(h) * s.width + w];
                     mask[output] = PositionIn<I>(s, window, h, w);
                     so_far += out[o];
                     return so_far >= threshold;
                   });
                 });
               });
}

template <typename T>
void ExpectedPoolingForward(const PoolingShape& s, const T* x, T* y) {
  using F = AccumulatorType<T>;
  ForEachPlane(s.planes, s.input_plane(), s.output_plane(), x, y, [&](size_t, const F* in, F* out) {
    ForEachWindow(s, [&](const Window& window, size_t o) {
      F sum = 0, squares = 0;
      ForEachElement(window, [&](int h, int w) {
        const F value = in[size_t(h) * s.width + w];
        sum += value;
        squares += value * value;
        return false;
      });
      out[o] = sum > 0 ? squares / sum : 0;
    });
  });
}

namespace {

/// Offsets in the plane from a window's first position, by mask value.
template <typename I>
class PlacesInPlane {
 public:
  explicit PlacesInPlane(const PoolingShape& s) : kernel_w_(s.kernel_w), width_(s.width) {
    if (!std::is_same<I, uint8_t>::value) return;
    for (int i = 0; i < s.kernel_h * s.kernel_w; ++i) places_[i] = Place(i);
  }
  int64_t operator[](I mask) const {
    return std::is_same<I, uint8_t>::value ? places_[mask & 255] : Place(static_cast<int>(mask));
  }

 private:
  int64_t Place(int i) const { return int64_t(i / kernel_w_) * width_ + i % kernel_w_; }

  const int kernel_w_, width_;
  int64_t places_[256] = {};  // of bytes, without divisions
};

/// Calls f(position in the plane, -1 for none) for the mask values of a plane.
template <typename I, typename Function>
void ForEachPosition(const PoolingShape& s, const PlacesInPlane<I>& places, const I* mask,
                     Function&& f) {
  for (int ph = 0; ph < s.pooled_height; ++ph) {
    int64_t window = int64_t(ph * s.stride_h - s.pad_h) * s.width - s.pad_w;
    for (int pw = 0; pw < s.pooled_width; ++pw, window += s.stride_w, ++mask) {
      f(*mask == kNone<I> ? int64_t(-1) : window + places[*mask]);
    }
  }
}

}  // namespace

template <typename D, typename I>
void MaskPoolingBackward(const PoolingShape& s, const D* dy, const I* mask, D* dx) {
  using F = AccumulatorType<D>;
  const PlacesInPlane<I> places(s);
  ForEachPlane(s.planes, s.output_plane(), s.input_plane(), dy, dx,
               [&](size_t plane, const F* in, F* out) {
                 std::fill_n(out, s.input_plane(), F(0));
                 ForEachPosition(s, places, mask + plane * s.output_plane(), [&](int64_t position) {
                   if (position >= 0) out[position] += *in;
                   ++in;
                 });
               });
}

template <typename I, typename Dtype>
void MaskPositions(const PoolingShape& s, const I* mask, Dtype* positions) {
  const PlacesInPlane<I> places(s);
  for (size_t plane = 0; plane < s.planes; ++plane) {
    ForEachPosition(s, places, mask + plane * s.output_plane(),
                    [&](int64_t position) { *positions++ = static_cast<Dtype>(position); });
  }
}

template <typename T>
void AveragePoolingForward(const PoolingShape& s, const T* x, T* y) {
  using F = AccumulatorType<T>;
  ForEachPlane(s.planes, s.input_plane(), s.output_plane(), x, y, [&](size_t, const F* in, F* out) {
    std::vector<F> row(s.width);
    PoolRowsThenColumns(
        s, F(0), in, out, row.data(), Loops<F>().add, [](F sum, F value) { return sum + value; },
        [](F sum, const Window& window) { return sum / window.divisor; });
  });
}

template <typename D>
void AveragePoolingBackward(const PoolingShape& s, const D* dy, D* dx) {
  using F = AccumulatorType<D>;
  ForEachPlane(s.planes, s.output_plane(), s.input_plane(), dy, dx,
               [&](size_t, const F* in, F* out) {
                 std::fill_n(out, s.input_plane(), F(0));
                 std::vector<F> row(s.width);  // what each row of the windows gets
                 for (int ph = 0; ph < s.pooled_height; ++ph) {
                   std::fill(row.begin(), row.end(), F(0));
                   for (int pw = 0; pw < s.pooled_width; ++pw, ++in) {
                     const Window window = WindowAt(s, ph, pw);
                     const F share = *in / window.divisor;
                     for (int w = window.w_begin; w < window.w_end; ++w) row[w] += share;
                   }
                   const Window rows = WindowAt(s, ph, 0);
                   for (int h = rows.h_begin; h < rows.h_end; ++h) {
                     F* to = out + size_t(h) * s.width;
                     Loops<F>().add(s.width, to, row.data(), to);
                   }
                 }
               });
}

template <typename T, typename Dtype>
void UnpoolingForward(size_t planes, size_t inputs, size_t outputs, const T* x,
                      const Dtype* positions, T* y) {
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, outputs));
  ParallelFor(planes, grain, [&](size_t begin, size_t end) {
    std::fill(y + begin * outputs, y + end * outputs, T(0.f));
    for (size_t plane = begin; plane < end; ++plane) {
      for (size_t i = plane * inputs; i < (plane + 1) * inputs; ++i) {
        const Dtype position = positions[i];
        Require(position >= 0 && position < static_cast<Dtype>(outputs), "the mask has position ",
                position, " where the output has ", outputs, " per channel: it must be the mask ",
                "of a pooling that the scale undoes");
        y[plane * outputs + static_cast<size_t>(position)] = x[i];
      }
    }
  });
}

template <typename D, typename Dtype>
void UnpoolingBackward(size_t planes, size_t inputs, size_t outputs, const D* dy,
                       const Dtype* positions, D* dx) {
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, inputs));
  ParallelFor(planes, grain, [&](size_t begin, size_t end) {
    for (size_t plane = begin; plane < end; ++plane) {
      for (size_t i = plane * inputs; i < (plane + 1) * inputs; ++i) {
        dx[i] = dy[plane * outputs + static_cast<size_t>(positions[i])];
      }
    }
  });
}

#define CAFFE_MASK_POOLING(T, I)                                                               \
  template void MaxPoolingForward(const PoolingShape&, const T*, T*, I*);                      \
  template void StochasticPoolingForward(const PoolingShape&, const T*, const float*, T*, I*); \
  template void MaskPoolingBackward(const PoolingShape&, const T*, const I*, T*)
#define CAFFE_POOLING(T)                                                               \
  CAFFE_MASK_POOLING(T, uint8_t);                                                      \
  CAFFE_MASK_POOLING(T, int);                                                          \
  template void ExpectedPoolingForward(const PoolingShape&, const T*, T*);             \
  template void AveragePoolingForward(const PoolingShape&, const T*, T*);              \
  template void AveragePoolingBackward(const PoolingShape&, const T*, T*);             \
  template void UnpoolingForward(size_t, size_t, size_t, const T*, const float*, T*);  \
  template void UnpoolingForward(size_t, size_t, size_t, const T*, const double*, T*); \
  template void UnpoolingBackward(size_t, size_t, size_t, const T*, const float*, T*); \
  template void UnpoolingBackward(size_t, size_t, size_t, const T*, const double*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_POOLING)
#undef CAFFE_POOLING
#undef CAFFE_MASK_POOLING

#define CAFFE_MASK_POSITIONS(I)                                       \
  template void MaskPositions(const PoolingShape&, const I*, float*); \
  template void MaskPositions(const PoolingShape&, const I*, double*)
CAFFE_MASK_POSITIONS(uint8_t);
CAFFE_MASK_POSITIONS(int);
#undef CAFFE_MASK_POSITIONS

}  // namespace caffe::kernels
