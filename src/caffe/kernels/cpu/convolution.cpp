#include "caffe/kernels/convolution.hpp"

#include <memory>

#include "caffe/kernels/blas.hpp"
#include "chunks.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Scratch of one thread for one call, uninitialised.
template <typename F>
using Scratch = std::unique_ptr<F[]>;

template <typename F>
Scratch<F> Make(size_t count) {
  return Scratch<F>(count ? new F[count] : nullptr);
}

/// An array as F: itself, or a widened copy in `scratch`.
template <typename F, typename T>
const F* Widen(const T* x, size_t n, F* scratch) {
  if constexpr (std::is_same<F, T>::value) {
    return x;
  } else {
    Convert(n, x, scratch);
    return scratch;
  }
}

template <typename F, typename T>
size_t WidenedCount(size_t n) {
  return std::is_same<F, T>::value ? 0 : n;
}

/// The column matrix of one image: the image itself for pointwise convolutions.
template <typename F>
const F* Columns(const ConvolutionShape& s, const F* image, F* scratch) {
  if (s.is_pointwise()) return image;
  Im2col(s, s.channels, image, scratch);
  return scratch;
}

size_t ColumnCount(const ConvolutionShape& s) {
  return s.is_pointwise() ? 0 : s.group * s.column_rows() * s.output_spatial();
}

}  // namespace

template <typename T>
void ConvolutionForward(const ConvolutionShape& s, int num, const T* x, const T* weights,
                        const T* bias, T* y) {
  using F = AccumulatorType<T>;
  const int m = s.outputs / s.group, n = static_cast<int>(s.output_spatial());
  const int k = static_cast<int>(s.column_rows());
  Scratch<F> wide_weights = Make<F>(WidenedCount<F, T>(s.weight_count()));
  const F* w = Widen(weights, s.weight_count(), wide_weights.get());
  ParallelFor(num, 1, [&](size_t begin, size_t end) {
    Scratch<F> wide_image = Make<F>(WidenedCount<F, T>(s.input_size()));
    Scratch<F> column = Make<F>(ColumnCount(s));
    Scratch<F> wide_output = Make<F>(WidenedCount<F, T>(s.output_size()));
    for (size_t image = begin; image < end; ++image) {
      const F* in = Widen(x + image * s.input_size(), s.input_size(), wide_image.get());
      const F* columns = Columns(s, in, column.get());
      T* target = y + image * s.output_size();
      F* out;
      if constexpr (std::is_same<F, T>::value) {
        out = target;
      } else {
        out = wide_output.get();
      }
      // The bias goes in first: the product is added to it.
      if (bias) {
        for (int o = 0; o < s.outputs; ++o) std::fill_n(out + size_t(o) * n, n, F(bias[o]));
      }
      for (int g = 0; g < s.group; ++g) {
        Gemm(false, false, m, n, k, F(1), w + size_t(g) * m * k, columns + size_t(g) * k * n,
             bias ? F(1) : F(0), out + size_t(g) * m * n);
      }
      if constexpr (!std::is_same<F, T>::value) Convert(s.output_size(), out, target);
    }
  });
}

template <typename T, typename D>
void ConvolutionBackwardData(const ConvolutionShape& s, int num, const D* dy, const T* weights,
                             D* dx) {
  using F = AccumulatorType<D>;
  const int m = s.outputs / s.group, n = static_cast<int>(s.output_spatial());
  const int k = static_cast<int>(s.column_rows());
  Scratch<F> wide_weights = Make<F>(WidenedCount<F, T>(s.weight_count()));
  const F* w = Widen(weights, s.weight_count(), wide_weights.get());
  ParallelFor(num, 1, [&](size_t begin, size_t end) {
    Scratch<F> wide_dy = Make<F>(WidenedCount<F, D>(s.output_size()));
    Scratch<F> wide_dx = Make<F>(WidenedCount<F, D>(s.input_size()));
    Scratch<F> column = Make<F>(ColumnCount(s));
    for (size_t image = begin; image < end; ++image) {
      const F* in = Widen(dy + image * s.output_size(), s.output_size(), wide_dy.get());
      D* target = dx + image * s.input_size();
      F* out;
      if constexpr (std::is_same<F, D>::value) {
        out = target;
      } else {
        out = wide_dx.get();
      }
      F* columns = s.is_pointwise() ? out : column.get();
      for (int g = 0; g < s.group; ++g) {
        Gemm(true, false, k, n, m, F(1), w + size_t(g) * m * k, in + size_t(g) * m * n, F(0),
             columns + size_t(g) * k * n);
      }
      if (!s.is_pointwise()) Col2im(s, s.channels, columns, out);
      if constexpr (!std::is_same<F, D>::value) Convert(s.input_size(), out, target);
    }
  });
}

template <typename T, typename D>
void ConvolutionBackwardWeights(const ConvolutionShape& s, int num, const T* x, const D* dy,
                                AccumulatorType<D>* d_weights) {
  using F = AccumulatorType<D>;
  const int m = s.outputs / s.group, n = static_cast<int>(s.output_spatial());
  const int k = static_cast<int>(s.column_rows());
  const size_t parts = ParallelParts(num, 1);
  // Each part but the first, which adds to the gradient itself, has sums of its own.
  Scratch<F> partial = Make<F>((parts - 1) * s.weight_count());
  ParallelParts(num, 1, [&](size_t part, size_t begin, size_t end) {
    Scratch<F> wide_image = Make<F>(WidenedCount<F, T>(s.input_size()));
    Scratch<F> wide_dy = Make<F>(WidenedCount<F, D>(s.output_size()));
    Scratch<F> column = Make<F>(ColumnCount(s));
    F* sums = part == 0 ? d_weights : partial.get() + (part - 1) * s.weight_count();
    for (size_t image = begin; image < end; ++image) {
      const F* in = Widen(x + image * s.input_size(), s.input_size(), wide_image.get());
      const F* columns = Columns(s, in, column.get());
      const F* out = Widen(dy + image * s.output_size(), s.output_size(), wide_dy.get());
      const F beta = part != 0 && image == begin ? F(0) : F(1);
      for (int g = 0; g < s.group; ++g) {
        Gemm(false, true, m, k, n, F(1), out + size_t(g) * m * n, columns + size_t(g) * k * n, beta,
             sums + size_t(g) * m * k);
      }
    }
  });
  for (size_t part = 1; part < parts; ++part) {
    Axpy(s.weight_count(), F(1), partial.get() + (part - 1) * s.weight_count(), d_weights);
  }
}

#define CAFFE_CONVOLUTION(T, D)                                                                \
  template void ConvolutionBackwardData(const ConvolutionShape&, int, const D*, const T*, D*); \
  template void ConvolutionBackwardWeights(const ConvolutionShape&, int, const T*, const D*,   \
                                           AccumulatorType<D>*)
CAFFE_CONVOLUTION(double, double);
CAFFE_CONVOLUTION(float, float);
CAFFE_CONVOLUTION(float, float16);
CAFFE_CONVOLUTION(float16, float);
CAFFE_CONVOLUTION(float16, float16);
#undef CAFFE_CONVOLUTION

#define CAFFE_CONVOLUTION_FORWARD(T) \
  template void ConvolutionForward(const ConvolutionShape&, int, const T*, const T*, const T*, T*)
CAFFE_CONVOLUTION_FORWARD(float);
CAFFE_CONVOLUTION_FORWARD(double);
CAFFE_CONVOLUTION_FORWARD(float16);
#undef CAFFE_CONVOLUTION_FORWARD

}  // namespace kernels
}  // namespace caffe
