#include "caffe/kernels/elementwise.hpp"

#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"
#include "chunks.hpp"
#include "half_arithmetic.hpp"

namespace caffe::kernels {

template <typename T>
void Set(size_t n, AccumulatorType<T> value, T* y) {
  const T element = static_cast<T>(value);
  ParallelFor(n, kLoopGrain,
              [&](size_t begin, size_t end) { std::fill(y + begin, y + end, element); });
}

template <typename X, typename Y>
void Affine(size_t n, AccumulatorType<Y> a, AccumulatorType<Y> b, const X* x, Y* y) {
  using F = LoopType<X, Y>;
  const auto affine = Loops<F>().affine;
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, X> in;
    OutputChunk<F, Y> out;
    affine(length, a, b, in.Load(x + offset, length), out.Begin(y + offset));
    out.Store(y + offset, length);
  });
}

namespace {

template <typename F, typename X, typename Z, typename Y>
void Binary(size_t n, void (*loop)(size_t, const F*, const F*, F*), const X* x, const Z* z, Y* y) {
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, X> left;
    InputChunk<F, Z> right;
    OutputChunk<F, Y> out;
    loop(length, left.Load(x + offset, length), right.Load(z + offset, length),
         out.Begin(y + offset));
    out.Store(y + offset, length);
  });
}

}  // namespace

template <typename X, typename Z, typename Y>
void Add(size_t n, const X* x, const Z* z, Y* y) {
  if constexpr (kAreHalves<X, Z, Y>) return OfHalves(n, ChosenKernels().halves.add, x, z, y);
  Binary(n, Loops<LoopType<X, Z, Y>>().add, x, z, y);
}
template <typename X, typename Z, typename Y>
void Subtract(size_t n, const X* x, const Z* z, Y* y) {
  Binary(n, Loops<LoopType<X, Z, Y>>().subtract, x, z, y);
}
template <typename X, typename Z, typename Y>
void Multiply(size_t n, const X* x, const Z* z, Y* y) {
  if constexpr (kAreHalves<X, Z, Y>) return OfHalves(n, ChosenKernels().halves.multiply, x, z, y);
  Binary(n, Loops<LoopType<X, Z, Y>>().multiply, x, z, y);
}
template <typename X, typename Z, typename Y>
void Divide(size_t n, const X* x, const Z* z, Y* y) {
  Binary(n, Loops<LoopType<X, Z, Y>>().divide, x, z, y);
}

template <typename T>
void MaskScale(size_t n, const uint8_t* mask, AccumulatorType<T> scale, const T* x, T* y) {
  using F = LoopType<T>;
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in;
    OutputChunk<F, T> out;
    Loops<F>().mask_scale(length, mask + offset, scale, in.Load(x + offset, length),
                          out.Begin(y + offset));
    out.Store(y + offset, length);
  });
}

namespace {

/// Rows of (outer, channels, inner) that make one piece of work for a thread.
size_t RowGrain(size_t inner) {
  return std::max<size_t>(1, kLoopGrain / std::max<size_t>(inner, 1));
}

}  // namespace

template <typename T>
void ChannelAffine(size_t outer, size_t channels, size_t inner, const AccumulatorType<T>* a,
                   const AccumulatorType<T>* b, const T* x, T* y) {
  using F = LoopType<T>;
  if (inner == 1 && channels > 1 && b) {
    // Channels are the fastest axis: whole rows at once.
    ParallelFor(outer, RowGrain(channels), [&](size_t begin, size_t end) {
      for (size_t offset = 0; offset < channels; offset += kChunk) {
        const size_t length = std::min(kChunk, channels - offset);
        for (size_t row = begin; row < end; ++row) {
          InputChunk<F, T> in;
          OutputChunk<F, T> out;
          const size_t start = row * channels + offset;
          Loops<F>().multiply_add(length, a + offset, in.Load(x + start, length), b + offset,
                                  out.Begin(y + start));
          out.Store(y + start, length);
        }
      }
    });
    return;
  }
  ParallelFor(outer * channels, RowGrain(inner), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const size_t c = row % channels;
      Affine(inner, a[c], b ? b[c] : F(0), x + row * inner, y + row * inner);
    }
  });
}

template <typename X, typename Z>
void ChannelSums(size_t outer, size_t channels, size_t inner, const X* x, const Z* z, double* sum,
                 double* dot) {
  using F = LoopType<X, Z>;
  if (inner == 1) {
    ParallelFor(channels, RowGrain(outer), [&](size_t begin, size_t end) {
      if (sum) std::fill(sum + begin, sum + end, 0.);
      if (dot) std::fill(dot + begin, dot + end, 0.);
      for (size_t row = 0; row < outer * channels; row += channels) {
        for (size_t c = begin; sum && c < end; ++c) sum[c] += static_cast<F>(x[row + c]);
        for (size_t c = begin; dot && c < end; ++c) {
          dot[c] += double(static_cast<F>(x[row + c])) * static_cast<F>(z[row + c]);
        }
      }
    });
    return;
  }
  ParallelFor(channels, RowGrain(outer * inner), [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      double channel_sum = 0, channel_dot = 0;
      for (size_t n = 0; n < outer; ++n) {
        for (size_t offset = 0; offset < inner; offset += kChunk) {
          const size_t length = std::min(kChunk, inner - offset);
          const size_t start = (n * channels + c) * inner + offset;
          InputChunk<F, X> left;
          const F* values = left.Load(x + start, length);
          if (sum) channel_sum += Loops<F>().sum(length, values);
          if (dot) {
            InputChunk<F, Z> right;
            channel_dot += Loops<F>().dot(length, values, right.Load(z + start, length));
          }
        }
      }
      if (sum) sum[c] = channel_sum;
      if (dot) dot[c] = channel_dot;
    }
  });
}

#define CAFFE_UNARY(T)                                                               \
  template void Set(size_t, AccumulatorType<T>, T*);                                 \
  template void MaskScale(size_t, const uint8_t*, AccumulatorType<T>, const T*, T*); \
  template void ChannelAffine(size_t, size_t, size_t, const AccumulatorType<T>*,     \
                              const AccumulatorType<T>*, const T*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_UNARY)
#undef CAFFE_UNARY

#define CAFFE_PAIR(X, Y)                                                              \
  template void Affine(size_t, AccumulatorType<Y>, AccumulatorType<Y>, const X*, Y*); \
  template void ChannelSums(size_t, size_t, size_t, const X*, const Y*, double*, double*);
CAFFE_FOR_EACH_PAIR(CAFFE_PAIR)
#undef CAFFE_PAIR

#define CAFFE_BINARY(X, Z, Y)                             \
  template void Add(size_t, const X*, const Z*, Y*);      \
  template void Subtract(size_t, const X*, const Z*, Y*); \
  template void Multiply(size_t, const X*, const Z*, Y*); \
  template void Divide(size_t, const X*, const Z*, Y*)
CAFFE_BINARY(double, double, double);
CAFFE_BINARY(float, float, float);
CAFFE_BINARY(float, float, float16);
CAFFE_BINARY(float, float16, float);
CAFFE_BINARY(float, float16, float16);
CAFFE_BINARY(float16, float, float);
CAFFE_BINARY(float16, float, float16);
CAFFE_BINARY(float16, float16, float);
CAFFE_BINARY(float16, float16, float16);
#undef CAFFE_BINARY

}  // namespace caffe::kernels
