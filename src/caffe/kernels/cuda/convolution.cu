#include "caffe/error.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "caffe/kernels/instances.hpp"
#include "launch.hpp"
#include "reduce.hpp"

namespace caffe::cuda {
namespace {

constexpr int kMaxAxes = 30;  // of blobs, besides images and channels

/// A ConvolutionShape as a kernel argument.
struct Columns {
  int axes;
  int input_spatial, output_spatial, kernel_size;
  int input[kMaxAxes], output[kMaxAxes], kernel[kMaxAxes];
  int stride[kMaxAxes], pad[kMaxAxes], dilation[kMaxAxes];

  explicit Columns(const kernels::ConvolutionShape& s)
      : axes(s.axes()),
        input_spatial(static_cast<int>(s.input_spatial())),
        output_spatial(static_cast<int>(s.output_spatial())),
        kernel_size(static_cast<int>(s.kernel_size())) {
    Require(axes <= kMaxAxes, "a convolution on the GPU has at most ", kMaxAxes,
            " spatial axes, not ", axes);
    std::copy(s.input.begin(), s.input.end(), input);
    std::copy(s.output.begin(), s.output.end(), output);
    std::copy(s.kernel.begin(), s.kernel.end(), kernel);
    std::copy(s.stride.begin(), s.stride.end(), stride);
    std::copy(s.pad.begin(), s.pad.end(), pad);
    std::copy(s.dilation.begin(), s.dilation.end(), dilation);
  }

  /// The place in the input plane under kernel position k at output position p, -1 in the padding.
  __host__ __device__ int InputOf(int k, int p) const {
    int place = 0, step = 1;
    for (int a = axes - 1; a >= 0; --a) {
      const int at = p % output[a] * stride[a] - pad[a] + k % kernel[a] * dilation[a];
      if (at < 0 || at >= input[a]) return -1;
      place += at * step;
      step *= input[a];
      p /= output[a];
      k /= kernel[a];
    }
    return place;
  }
  /// The output position at which kernel position k is over place i of the input plane, -1 if there
  /// is none.
  __host__ __device__ int OutputOf(int k, int i) const {
    int position = 0, step = 1;
    for (int a = axes - 1; a >= 0; --a) {
      const int at = i % input[a] + pad[a] - k % kernel[a] * dilation[a];
      if (at < 0 || at % stride[a] != 0 || at / stride[a] >= output[a]) return -1;
      position += at / stride[a] * step;
      step *= output[a];
      i /= input[a];
      k /= kernel[a];
    }
    return position;
  }
};

/// Where the values of images lie, in Caffe's order or with channels last.
struct Grid {
  int channels, spatial;
  bool channels_last;

  struct Value {
    int image, channel, place;
  };
  /// The value that element i holds.
  __host__ __device__ Value Of(int i) const {
    return channels_last ? Value{i / channels / spatial, i % channels, i / channels % spatial}
                         : Value{i / spatial / channels, i / spatial % channels, i % spatial};
  }
  __host__ __device__ int At(int image, int channel, int place) const {
    return channels_last ? (image * spatial + place) * channels + channel
                         : (image * channels + channel) * spatial + place;
  }
};

/// The number of all places, checked to fit the kernels' int.
int Counted(double count) {
  Require(count <= std::numeric_limits<int>::max(), "the column matrix of a convolution has ",
          count, " elements, more than 2^31 - 1");
  return static_cast<int>(count);
}

}  // namespace

template <typename T>
void Im2col(Stream& stream, const kernels::ConvolutionShape& shape, int num, int channels,
            const T* image, T* column) {
  const Columns c(shape);
  const T zero = T(0.f);
  ForEach(stream, Counted(double(num) * channels * c.kernel_size * c.output_spatial),
          [=] __host__ __device__(int i) {
            const int row = i / c.output_spatial;  // of all images' matrices
            const int place = c.InputOf(row % c.kernel_size, i % c.output_spatial);
            column[i] = place < 0 ? zero : image[row / c.kernel_size * c.input_spatial + place];
          });
}

template <typename C, typename T>
void Col2im(Stream& stream, const kernels::ConvolutionShape& shape, int num, int channels,
            const C* column, T* image) {
  const Columns c(shape);
  Counted(double(num) * channels * c.kernel_size * c.output_spatial);
  ForEach(stream, Counted(double(num) * channels * c.input_spatial),
          [=] __host__ __device__(int i) {
            const int plane = i / c.input_spatial, place = i % c.input_spatial;
            Math<T> sum = 0;
            for (int k = 0; k < c.kernel_size; ++k) {
              const int position = c.OutputOf(k, place);
              if (position < 0) continue;
              sum += Load(column + (plane * c.kernel_size + k) * c.output_spatial + position);
            }
            Store(image + i, sum);
          });
}

template <typename T>
void DepthwiseForward(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                      bool channels_last, const T* x, const T* weights, T* y) {
  const Columns c(shape);
  const int multiple = shape.outputs / shape.channels;
  const Grid from = {shape.channels, c.input_spatial, channels_last};
  const Grid to = {shape.outputs, c.output_spatial, channels_last};
  ForEach(stream, Counted(double(num) * shape.outputs * c.output_spatial),
          [=] __host__ __device__(int i) {
            const Grid::Value at = to.Of(i);
            const T* factors = weights + at.channel * c.kernel_size;
            Math<T> sum = 0;
            for (int k = 0; k < c.kernel_size; ++k) {
              const int place = c.InputOf(k, at.place);
              if (place < 0) continue;
              sum += Load(factors + k) * Load(x + from.At(at.image, at.channel / multiple, place));
            }
            Store(y + i, sum);
          });
}

template <typename T>
void DepthwiseBackwardData(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                           bool channels_last, const T* dy, const T* weights, T* dx) {
  const Columns c(shape);
  const int multiple = shape.outputs / shape.channels;
  const Grid from = {shape.outputs, c.output_spatial, channels_last};
  const Grid to = {shape.channels, c.input_spatial, channels_last};
  ForEach(stream, Counted(double(num) * shape.channels * c.input_spatial),
          [=] __host__ __device__(int i) {
            const Grid::Value at = to.Of(i);
            Math<T> sum = 0;
            for (int o = at.channel * multiple; o < (at.channel + 1) * multiple; ++o) {
              const T* factors = weights + o * c.kernel_size;
              for (int k = 0; k < c.kernel_size; ++k) {
                const int position = c.OutputOf(k, at.place);
                if (position < 0) continue;
                sum += Load(factors + k) * Load(dy + from.At(at.image, o, position));
              }
            }
            Store(dx + i, sum);
          });
}

namespace {

/// d_weights += the sums of term(weight, output, kernel position, j) over the j in [0, columns),
/// where neighbouring outputs are adjacent: in parts, with a thread for each part of each sum.
template <typename F, typename Term>
void AddSumsSideBySide(Stream& stream, int outputs, int kernel_size, int columns, Term term,
                       F* d_weights) {
  constexpr int kThreadsWanted = 1 << 17, kFewColumns = 32;
  const int rows = outputs * kernel_size;
  const int parts =
      std::max(1, std::min(columns / kFewColumns, kThreadsWanted / std::max(1, rows)));
  const int length = (columns - 1) / parts + 1;
  const Buffer<F> buffer(stream, size_t(parts) * rows);
  F* partial = buffer.get();
  ForEach(stream, Counted(double(parts) * rows), [=] __host__ __device__(int i) {
    const int output = i % outputs, k = i / outputs % kernel_size, begin = i / rows * length;
    F sum = 0;
    for (int j = begin; j < Min(begin + length, columns); ++j) sum += term(output, k, j);
    partial[i] = sum;
  });
  ReduceEach(
      stream, rows, parts, true, F(0),
      [=] __host__ __device__(int row, int part) { return partial[part * rows + row]; },
      [] __host__ __device__(F a, F b) { return a + b; },
      [=] __host__ __device__(int row, F sum) {
        d_weights[row % outputs * kernel_size + row / outputs] += sum;
      });
}

}  // namespace

template <typename T>
void DepthwiseBackwardWeights(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                              bool channels_last, const T* x, const T* dy,
                              AccumulatorType<T>* d_weights) {
  using F = Math<T>;
  const Columns c(shape);
  const int multiple = shape.outputs / shape.channels;
  const Grid above = {shape.outputs, c.output_spatial, channels_last};
  const Grid below = {shape.channels, c.input_spatial, channels_last};
  const auto term = [=] __host__ __device__(int output, int k, int j) {
    const int image = j / c.output_spatial, position = j % c.output_spatial;
    const int place = c.InputOf(k, position);
    if (place < 0) return F(0);
    return static_cast<F>(Load(dy + above.At(image, output, position))) *
           static_cast<F>(Load(x + below.At(image, output / multiple, place)));
  };
  const int columns = Counted(double(num) * c.output_spatial);
  if (channels_last) {
    AddSumsSideBySide(stream, shape.outputs, c.kernel_size, columns, term, d_weights);
    return;
  }
  SumRows<F>(
      stream, shape.outputs * c.kernel_size, columns,
      [=] __host__ __device__(int weight, int j) {
        return term(weight / c.kernel_size, weight % c.kernel_size, j);
      },
      [=] __host__ __device__(int weight, F sum) { d_weights[weight] += sum; });
}

#define INSTANTIATE(T)                                                                           \
  template void DepthwiseForward(Stream&, const kernels::ConvolutionShape&, int, bool, const T*, \
                                 const T*, T*);                                                  \
  template void DepthwiseBackwardData(Stream&, const kernels::ConvolutionShape&, int, bool,      \
                                      const T*, const T*, T*);                                   \
  template void DepthwiseBackwardWeights(Stream&, const kernels::ConvolutionShape&, int, bool,   \
                                         const T*, const T*, AccumulatorType<T>*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE

template void Im2col(Stream&, const kernels::ConvolutionShape&, int, int, const float*, float*);
template void Im2col(Stream&, const kernels::ConvolutionShape&, int, int, const double*, double*);
template void Im2col(Stream&, const kernels::ConvolutionShape&, int, int, const float16*, float16*);
template void Col2im(Stream&, const kernels::ConvolutionShape&, int, int, const float*, float*);
template void Col2im(Stream&, const kernels::ConvolutionShape&, int, int, const double*, double*);
template void Col2im(Stream&, const kernels::ConvolutionShape&, int, int, const float16*, float16*);
template void Col2im(Stream&, const kernels::ConvolutionShape&, int, int, const float*, float16*);

}  // namespace caffe::cuda
