#include "caffe/kernels/convolution.hpp"

#include <memory>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/instances.hpp"
#include "depthwise_convolution.hpp"

namespace caffe::kernels {
namespace {

// Elements of a column matrix that a thread works on at a time: about its cache size.
constexpr size_t kColumnElements = 1 << 18;
// Minimum number of positions of a piece of a matrix product.
constexpr int kMinPositions = 96;

/// Scratch of one thread for one call, uninitialised.
template <typename F>
using Scratch = std::unique_ptr<F[]>;

template <typename F>
Scratch<F> Make(size_t count) {
  return Scratch<F>(count ? new F[count] : nullptr);
}

/// An array as F: itself, or a widened copy.
template <typename F, typename T>
class WidenedArray {
 public:
  WidenedArray(const T* x, size_t n) {
    if constexpr (std::is_same<F, T>::value) {
      data_ = x;
    } else {
      copy_ = Make<F>(n);
      Convert(n, x, copy_.get());
      data_ = copy_.get();
    }
  }
  const F* get() const { return data_; }

 private:
  const F* data_;
  Scratch<F> copy_;
};

/// Rows of a result that are computed as F and stored as T.
template <typename F, typename T>
class Rows {
 public:
  Rows(int rows, int columns) : rows_(rows), columns_(columns) {
    if (!std::is_same<F, T>::value) wide_ = Make<F>(size_t(rows) * columns);
  }
  /// The rows begin at `target` and are `stride` apart.
  F* Begin(T* target, int stride) {
    target_ = target;
    stride_ = stride;
    if constexpr (std::is_same<F, T>::value) {
      return target;
    } else {
      return wide_.get();
    }
  }
  int stride() const { return std::is_same<F, T>::value ? stride_ : columns_; }
  void Store() {
    if constexpr (!std::is_same<F, T>::value) {
      for (int row = 0; row < rows_; ++row) {
        Convert(columns_, wide_.get() + size_t(row) * columns_, target_ + size_t(row) * stride_);
      }
    }
  }

 private:
  const int rows_, columns_;
  T* target_ = nullptr;
  int stride_ = 0;
  Scratch<F> wide_;
};

/// The threads of a team that begins here.
size_t TeamThreads() { return InParallel() ? 1 : std::max(1, omp_get_max_threads()); }

/// The matrices of one group of one image.
struct GroupMatrices {
  explicit GroupMatrices(const ConvolutionShape& s)
      : channels(s.channels / s.group),
        m(s.outputs / s.group),
        n(static_cast<int>(s.output_spatial())),
        k(static_cast<int>(s.column_rows())),
        kernel(static_cast<int>(s.kernel_size())),
        extent(s.axes() == 0 ? 1 : s.output[0]),
        inner(n / std::max(1, extent)) {}

  const int channels, m, n, k, kernel;
  const int extent, inner;  // of the first output axis; positions per index on it
};

/// y = bias + w * columns for positions [begin, end) of the first axis, which begin at column
/// `first` of the result. `column` is scratch.
template <typename F, typename W, typename X>
void ForwardBand(const ConvolutionShape& s, const GroupMatrices& p, int begin, int end, const X* x,
                 const F* w, const W* bias, X* y, F* column) {
  const int first = begin * p.inner, width = (end - begin) * p.inner;
  Rows<F, X> rows(p.m, width);
  F* result = rows.Begin(y + first, p.n);
  // The bias goes in first: the product is added to it.
  for (int o = 0; bias && o < p.m; ++o) {
    std::fill_n(result + size_t(o) * rows.stride(), width, F(bias[o]));
  }
  const F beta = bias ? F(1) : F(0);
  if (s.is_pointwise()) {
    Gemm(false, false, p.m, width, p.k, F(1), w, p.k, x + first, p.n, beta, result, rows.stride());
  } else {
    Im2colBand(s, p.channels, begin, end, x, column);
    Gemm(false, false, p.m, width, p.k, F(1), w, p.k, static_cast<const F*>(column), width, beta,
         result, rows.stride());
  }
  rows.Store();
}

/// How many indices of the first output axis make one piece of work, for `units` independent
/// products: pieces of equal size whose column matrix fits the cache, at least one per thread; or
/// all of them, if there are so few positions that the threads should rather share one product.
int BandOf(const GroupMatrices& p, size_t units, size_t threads) {
  if (units < threads && size_t(p.n) < threads * kMinPositions) return p.extent;
  const size_t cached = kColumnElements / std::max<size_t>(1, size_t(p.k) * p.inner);
  const size_t least = CeilDiv(kMinPositions, p.inner);
  const size_t fair = CeilDiv(p.extent, CeilDiv(threads, units));
  const size_t band = std::min(std::max(cached, least), fair);
  return CeilDiv(p.extent, CeilDiv(p.extent, band));
}

}  // namespace

template <typename W, typename X>
void ConvolutionForward(const ConvolutionShape& s, int num, const X* x, const W* weights,
                        const W* bias, X* y) {
  if (IsDepthwise(s)) return DepthwiseForward(s, num, x, weights, bias, y);
  using F = AccumulatorType<X>;
  const GroupMatrices p(s);
  if (num == 0 || p.n == 0 || p.m == 0) return;
  const WidenedArray<F, W> w(weights, s.weight_count());
  const size_t units = size_t(num) * s.group, threads = TeamThreads();
  const int band = BandOf(p, units, threads);
  const size_t bands = CeilDiv(p.extent, band);
  const auto compute = [&](size_t from, size_t to) {
    Scratch<F> column = Make<F>(s.is_pointwise() ? 0 : size_t(p.k) * band * p.inner);
    for (size_t item = from; item < to; ++item) {
      const size_t unit = item / bands, g = unit % s.group;
      const int begin = static_cast<int>(item % bands) * band;
      ForwardBand(s, p, begin, std::min(begin + band, p.extent),
                  x + unit * p.channels * s.input_spatial(), w.get() + g * p.m * p.k,
                  bias ? bias + g * p.m : nullptr, y + unit * p.m * p.n, column.get());
    }
  };
  if (units * bands < threads) {
    compute(0, units * bands);  // column matrix and product use all threads themselves
  } else {
    ParallelFor(units * bands, 1, compute);
  }
}

namespace {

/// Channels of a group that make one piece of work, for `units` independent groups.
int ChannelBlock(const GroupMatrices& p, size_t units, size_t threads) {
  const size_t cached =
      std::max<size_t>(1, kColumnElements / std::max<size_t>(1, size_t(p.kernel) * p.n));
  const size_t fair = std::max<size_t>(1, units * p.channels / threads);
  return static_cast<int>(std::min({cached, fair, size_t(p.channels)}));
}

/// The result of BackwardData without any output: the bias, or zero.
template <typename W, typename X>
void FillChannels(const ConvolutionShape& s, int num, const W* bias, X* dx) {
  const size_t inputs = s.input_spatial();
  for (size_t i = 0; i < size_t(num) * s.channels; ++i) {
    std::fill_n(dx + i * inputs, inputs, bias ? static_cast<X>(bias[i % s.channels]) : X(0));
  }
}

}  // namespace

// Each piece of work is a block of channels of one image: its rows of the column matrix are a
// separate product and contribute to no other channel.
template <typename W, typename X>
void ConvolutionBackwardData(const ConvolutionShape& s, int num, const X* dy, const W* weights,
                             const W* bias, X* dx) {
  if (s.output_size() == 0) return FillChannels(s, num, bias, dx);
  if (IsDepthwise(s)) return DepthwiseBackwardData(s, num, dy, weights, bias, dx);
  using F = AccumulatorType<X>;
  const GroupMatrices p(s);
  if (num == 0 || p.channels == 0) return;
  const size_t inputs = s.input_spatial(), units = size_t(num) * s.group, threads = TeamThreads();
  const WidenedArray<F, W> w(weights, s.weight_count());
  const int block = ChannelBlock(p, units, threads);
  const size_t blocks = CeilDiv(p.channels, block);
  const auto compute = [&](size_t from, size_t to) {
    Scratch<F> column = Make<F>(s.is_pointwise() ? 0 : size_t(block) * p.kernel * p.n);
    std::vector<F> start(block, F(0));
    for (size_t item = from; item < to; ++item) {
      const size_t unit = item / blocks, g = unit % s.group;
      const int first = static_cast<int>(item % blocks) * block;
      const int channels = std::min(block, p.channels - first), rows = channels * p.kernel;
      const F* own_weights = w.get() + g * p.m * p.k + size_t(first) * p.kernel;
      X* target = dx + (unit * p.channels + first) * inputs;
      if (bias) Convert(channels, bias + g * p.channels + first, start.data());
      const auto product = [&](F beta, F* result, int stride) {
        Gemm(true, false, rows, p.n, p.m, F(1), own_weights, p.k, dy + unit * p.m * p.n, p.n, beta,
             result, stride);
      };
      if (s.is_pointwise()) {
        Rows<F, X> result(channels, p.n);
        F* sums = result.Begin(target, p.n);
        for (int c = 0; bias && c < channels; ++c) {
          std::fill_n(sums + size_t(c) * p.n, p.n, start[c]);
        }
        product(bias ? F(1) : F(0), sums, p.n);
        result.Store();
      } else {
        product(F(0), column.get(), p.n);
        Col2im(s, channels, static_cast<const F*>(column.get()), target, start.data());
      }
    }
  };
  if (units * blocks < threads) {
    compute(0, units * blocks);
  } else {
    ParallelFor(units * blocks, 1, compute);
  }
}

// Each piece of work is a block of channels and of outputs of one group, and handles the images in
// order, so that the sum does not depend on the number of threads.
template <typename X, typename D>
void ConvolutionBackwardWeights(const ConvolutionShape& s, int num, const X* x, const D* dy,
                                AccumulatorType<D>* d_weights) {
  if (IsDepthwise(s)) return DepthwiseBackwardWeights(s, num, x, dy, d_weights);
  using F = AccumulatorType<D>;
  const GroupMatrices p(s);
  if (num == 0 || p.n == 0 || p.m == 0 || p.channels == 0) return;
  const size_t threads = TeamThreads();
  const int block = ChannelBlock(p, s.group, threads);
  const size_t blocks = CeilDiv(p.channels, block);
  const int parts = std::min(p.m, static_cast<int>(CeilDiv(threads, s.group * blocks)));
  const int outputs = static_cast<int>(CeilDiv(p.m, parts));
  const size_t column_row = size_t(block) * p.kernel * p.inner;
  const int band = static_cast<int>(std::min(
      std::max<size_t>(1, kColumnElements / std::max<size_t>(1, column_row)), size_t(p.extent)));
  ParallelFor(size_t(s.group) * blocks * parts, 1, [&](size_t from, size_t to) {
    Scratch<F> column = Make<F>(s.is_pointwise() ? 0 : column_row * band);
    for (size_t item = from; item < to; ++item) {
      const int g = static_cast<int>(item / (blocks * parts));
      const int first = static_cast<int>(item / parts % blocks) * block;
      const int output = static_cast<int>(item % parts) * outputs;
      const int channels = std::min(block, p.channels - first), rows = channels * p.kernel;
      const int m = std::min(outputs, p.m - output);
      if (m <= 0) continue;
      F* target = d_weights + (size_t(g) * p.m + output) * p.k + size_t(first) * p.kernel;
      for (int image = 0; image < num; ++image) {
        const size_t unit = size_t(image) * s.group + g;
        const X* in = x + (unit * p.channels + first) * s.input_spatial();
        const D* out = dy + (unit * p.m + output) * p.n;
        if (s.is_pointwise()) {
          Gemm(false, true, m, rows, p.n, F(1), out, p.n, in, p.n, F(1), target, p.k);
          continue;
        }
        for (int begin = 0; begin < p.extent; begin += band) {
          const int end = std::min(begin + band, p.extent), width = (end - begin) * p.inner;
          Im2colBand(s, channels, begin, end, in, column.get());
          Gemm(false, true, m, rows, width, F(1), out + size_t(begin) * p.inner, p.n,
               static_cast<const F*>(column.get()), width, F(1), target, p.k);
        }
      }
    }
  });
}

#define CAFFE_CONVOLUTION(A, B)                                                                \
  template void ConvolutionForward(const ConvolutionShape&, int, const B*, const A*, const A*, \
                                   B*);                                                        \
  template void ConvolutionBackwardData(const ConvolutionShape&, int, const B*, const A*,      \
                                        const A*, B*);                                         \
  template void ConvolutionBackwardWeights(const ConvolutionShape&, int, const A*, const B*,   \
                                           AccumulatorType<B>*);
CAFFE_FOR_EACH_PAIR(CAFFE_CONVOLUTION)
#undef CAFFE_CONVOLUTION

}  // namespace caffe::kernels
