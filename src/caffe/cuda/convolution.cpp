// Convolutions on device memory: the choice of implementations, and those without cuDNN.
#include "caffe/kernels/convolution.hpp"

#include <algorithm>

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/instances.hpp"
#include "cudnn.hpp"
#include "filled_channels.hpp"

namespace caffe::cuda {
namespace {

using kernels::ConvolutionShape;

/// Elements of the column matrices that are made at once, of as many images as they hold.
constexpr size_t kColumnElements = size_t(1) << 25;

/// The sizes of one group's products.
struct Sizes {
  explicit Sizes(const ConvolutionShape& shape)
      : group(shape.group),
        outputs(shape.outputs / shape.group),
        rows(static_cast<int>(shape.column_rows())),
        positions(static_cast<int>(shape.output_spatial())),
        input(static_cast<long long>(shape.input_size())),
        output(static_cast<long long>(shape.output_size())),
        column(static_cast<long long>(rows) * group * positions),
        pointwise(shape.is_pointwise()) {}

  /// How many images' column matrices are made at once.
  int Images(int num) const {
    const auto fitting = kColumnElements / std::max<long long>(1, column);
    return std::max(1, static_cast<int>(std::min<size_t>(num, fitting)));
  }
  template <typename T>
  Matrices<T> Weights(T* weights) const {
    return {weights, rows, static_cast<long long>(outputs) * rows};
  }

  int group, outputs, rows, positions;
  long long input, output, column;  // elements of one image
  bool pointwise;                   // the image is its own column matrix
};

/// A group for each channel: products of single rows, which matrix products are bad at.
bool IsDepthwise(const ConvolutionShape& shape) {
  return shape.group == shape.channels && shape.channels > 1;
}

/// For each of `num` images and each group: y = alpha op(W) z + beta y, where matrices z, with
/// `z_rows` rows, and y, with `y_rows`, have a row of positions for each of their channels.
/// `transpose` is op. The calls go over the longer of images and groups.
template <typename T, typename Z, typename Y>
void MultiplyByWeights(Stream& stream, const Sizes& s, int num, bool transpose, int y_rows,
                       int z_rows, const T* weights, const Z* z, Y* y) {
  const long long y_image = static_cast<long long>(y_rows) * s.group * s.positions;
  const long long z_image = static_cast<long long>(z_rows) * s.group * s.positions;
  const long long y_group = static_cast<long long>(y_rows) * s.positions;
  const long long z_group = static_cast<long long>(z_rows) * s.positions;
  const Matrices<const T> all = s.Weights(weights);
  const auto multiply = [&](long long first, Matrices<const T> w, const Z* from, long long z_stride,
                            Y* to, long long y_stride, int count) {
    Gemm<T, Y>(stream, transpose, false, y_rows, s.positions, z_rows, 1,
               {w.data + first * all.stride, w.row_stride, w.stride}, {from, s.positions, z_stride},
               0, {to, s.positions, y_stride}, count);
  };
  if (num >= s.group) {
    for (int g = 0; g < s.group; ++g) {
      multiply(g, {weights, s.rows, 0}, z + g * z_group, z_image, y + g * y_group, y_image, num);
    }
  } else {
    for (int n = 0; n < num; ++n) {
      multiply(0, all, z + n * z_image, z_group, y + n * y_image, y_group, s.group);
    }
  }
}

template <typename T>
void ForwardOnOwnKernels(Stream& stream, const ConvolutionShape& shape, int num, const T* x,
                         const T* weights, T* y) {
  if (IsDepthwise(shape)) return DepthwiseForward(stream, shape, num, false, x, weights, y);
  const Sizes s(shape);
  if (s.pointwise) {
    return MultiplyByWeights(stream, s, num, false, s.outputs, s.rows, weights, x, y);
  }
  const int images = s.Images(num);
  const Buffer<T> column(stream, images * s.column);
  for (int n = 0; n < num; n += images) {
    const int now = std::min(images, num - n);
    Im2col(stream, shape, now, shape.channels, x + n * s.input, column.get());
    MultiplyByWeights(stream, s, now, false, s.outputs, s.rows, weights,
                      static_cast<const T*>(column.get()), y + n * s.output);
  }
}

template <typename T>
void BackwardDataOnOwnKernels(Stream& stream, const ConvolutionShape& shape, int num, const T* dy,
                              const T* weights, T* dx) {
  using F = AccumulatorType<T>;
  if (IsDepthwise(shape)) return DepthwiseBackwardData(stream, shape, num, false, dy, weights, dx);
  const Sizes s(shape);
  if (s.pointwise) {
    return MultiplyByWeights(stream, s, num, true, s.rows, s.outputs, weights, dy, dx);
  }
  const int images = s.Images(num);
  const Buffer<F> column(stream, images * s.column);
  for (int n = 0; n < num; n += images) {
    const int now = std::min(images, num - n);
    MultiplyByWeights(stream, s, now, true, s.rows, s.outputs, weights, dy + n * s.output,
                      column.get());
    Col2im(stream, shape, now, shape.channels, static_cast<const F*>(column.get()),
           dx + n * s.input);
  }
}

template <typename T>
void BackwardWeightsOnOwnKernels(Stream& stream, const ConvolutionShape& shape, int num, const T* x,
                                 const T* dy, AccumulatorType<T>* d_weights) {
  using G = AccumulatorType<T>;
  if (IsDepthwise(shape))
    return DepthwiseBackwardWeights(stream, shape, num, false, x, dy, d_weights);
  const Sizes s(shape);
  const int images = s.Images(num);
  const Buffer<T> column(stream, s.pointwise ? 0 : images * s.column);
  for (int n = 0; n < num; ++n) {
    if (!s.pointwise && n % images == 0) {
      Im2col(stream, shape, std::min(images, num - n), shape.channels, x + n * s.input,
             column.get());
    }
    const T* values = s.pointwise ? x + n * s.input : column.get() + n % images * s.column;
    Gemm<T, G>(stream, false, true, s.outputs, s.rows, s.positions, 1,
               {dy + n * s.output, s.positions, static_cast<long long>(s.outputs) * s.positions},
               {values, s.positions, static_cast<long long>(s.rows) * s.positions}, 1,
               s.Weights(d_weights), s.group);
  }
}

/// True where a stream's memory is the host's: the tests' device, on which the CPU's kernels stand
/// for cuDNN.
bool IsHost(const Stream& stream) { return !stream.handle(); }

template <typename T>
void AddBias(Stream& stream, int num, int channels, size_t positions, bool channels_last,
             const AccumulatorType<T>* bias, T* y) {
  if (!bias) return;
  const int places = static_cast<int>(positions);
  ChannelAffine<T>(stream, channels_last ? num * places : num, channels, channels_last ? 1 : places,
                   nullptr, bias, y, y);
}

/// An array in Caffe's order, made of one with channels last or to become one.
template <typename T>
class InOrder {
 public:
  InOrder(Stream& stream, int num, int channels, size_t spatial)
      : stream_(stream),
        num_(num),
        channels_(channels),
        spatial_(static_cast<int>(spatial)),
        buffer_(stream, num * channels * spatial) {}
  InOrder(Stream& stream, int num, int channels, size_t spatial, const T* channels_last)
      : InOrder(stream, num, channels, spatial) {
    TurnFromChannelsLast(stream, kElementType<T>, num_, channels_, spatial_, channels_last, get());
  }
  T* get() const { return buffer_.get(); }
  void WriteTo(T* channels_last) const {
    TurnToChannelsLast(stream_, kElementType<T>, num_, channels_, spatial_, get(), channels_last);
  }

 private:
  Stream& stream_;
  const int num_, channels_, spatial_;
  const Buffer<T> buffer_;
};

template <typename T>
InOrder<T> InputOf(Stream& stream, const ConvolutionShape& shape, int num, const T* x) {
  return {stream, num, shape.channels, shape.input_spatial(), x};
}
template <typename T>
InOrder<T> OutputOf(Stream& stream, const ConvolutionShape& shape, int num, const T* y) {
  return {stream, num, shape.outputs, shape.output_spatial(), y};
}
template <typename T>
InOrder<T> WeightsOf(Stream& stream, const ConvolutionShape& shape, const T* weights) {
  return {stream, shape.outputs, shape.channels / shape.group, shape.kernel_size(), weights};
}

ConvolutionOptions InCaffesOrder(ConvolutionOptions options) {
  options.channels_last = false;
  return options;
}

// With channels last: directly, by cuDNN, or else in Caffe's order.

/// Pads the channels with zeros: images have too few for tensor cores.
void ForwardFilled(Stream& stream, ConvolutionShape shape, int num,
                   const ConvolutionOptions& options, const float16* x, const float16* weights,
                   float16* y) {
  const FilledImages images(stream, num, shape.channels, shape.input_spatial(), true, x);
  const FilledImages factors(stream, shape.outputs, shape.channels, shape.kernel_size(), true,
                             weights);
  shape.channels = FilledChannels(shape.channels);
  ConvolutionForward<float16>(stream, shape, num, options, images.get(), factors.get(), nullptr, y);
}

template <typename T>
void ForwardChannelsLast(Stream& stream, const ConvolutionShape& shape, int num,
                         const ConvolutionOptions& options, const T* x, const T* weights, T* y) {
  if (IsDepthwise(shape)) return DepthwiseForward(stream, shape, num, true, x, weights, y);
  if constexpr (std::is_same<T, float16>::value) {
    if (shape.group == 1 && FilledChannels(shape.channels) != shape.channels) {
      return ForwardFilled(stream, shape, num, options, x, weights, y);
    }
  }
  if (options.use_cudnn && !IsHost(stream) &&
      CudnnConvolutionForward(stream, shape, num, options, x, weights, y)) {
    return;
  }
  const InOrder<T> result(stream, num, shape.outputs, shape.output_spatial());
  ConvolutionForward<T>(stream, shape, num, InCaffesOrder(options),
                        InputOf(stream, shape, num, x).get(),
                        WeightsOf(stream, shape, weights).get(), nullptr, result.get());
  result.WriteTo(y);
}

template <typename T>
void BackwardDataChannelsLast(Stream& stream, const ConvolutionShape& shape, int num,
                              const ConvolutionOptions& options, const T* dy, const T* weights,
                              T* dx) {
  if (IsDepthwise(shape)) return DepthwiseBackwardData(stream, shape, num, true, dy, weights, dx);
  if (options.use_cudnn && !IsHost(stream) &&
      CudnnConvolutionBackwardData(stream, shape, num, options, dy, weights, dx)) {
    return;
  }
  const InOrder<T> result(stream, num, shape.channels, shape.input_spatial());
  ConvolutionBackwardData<T>(stream, shape, num, InCaffesOrder(options),
                             OutputOf(stream, shape, num, dy).get(),
                             WeightsOf(stream, shape, weights).get(), nullptr, result.get());
  result.WriteTo(dx);
}

template <typename T>
void BackwardWeightsChannelsLast(Stream& stream, const ConvolutionShape& shape, int num,
                                 const ConvolutionOptions& options, const T* x, const T* dy,
                                 AccumulatorType<T>* d_weights) {
  if (IsDepthwise(shape)) {
    return DepthwiseBackwardWeights(stream, shape, num, true, x, dy, d_weights);
  }
  if (options.use_cudnn && !IsHost(stream) &&
      CudnnConvolutionBackwardWeights(stream, shape, num, options, x, dy, d_weights)) {
    return;
  }
  ConvolutionBackwardWeights<T>(stream, shape, num, InCaffesOrder(options),
                                InputOf(stream, shape, num, x).get(),
                                OutputOf(stream, shape, num, dy).get(), d_weights);
}

}  // namespace

template <typename T>
void ConvolutionForward(Stream& stream, const ConvolutionShape& shape, int num,
                        const ConvolutionOptions& options, const T* x, const T* weights,
                        const AccumulatorType<T>* bias, T* y) {
  if (num == 0 || shape.output_size() == 0) return;
  if (options.channels_last) {
    ForwardChannelsLast(stream, shape, num, options, x, weights, y);
  } else if (options.use_cudnn && IsHost(stream)) {
    stream.RunOnHost(
        [=] { kernels::ConvolutionForward<T, T>(shape, num, x, weights, nullptr, y); });
  } else if (!options.use_cudnn ||
             !CudnnConvolutionForward(stream, shape, num, options, x, weights, y)) {
    ForwardOnOwnKernels(stream, shape, num, x, weights, y);
  }
  AddBias(stream, num, shape.outputs, shape.output_spatial(), options.channels_last, bias, y);
}

template <typename T>
void ConvolutionBackwardData(Stream& stream, const ConvolutionShape& shape, int num,
                             const ConvolutionOptions& options, const T* dy, const T* weights,
                             const AccumulatorType<T>* bias, T* dx) {
  if (num == 0 || shape.input_size() == 0) return;
  if (shape.output_size() == 0) {
    Fill<T>(stream, static_cast<int>(num * shape.input_size()), 0, dx);
  } else if (options.channels_last) {
    BackwardDataChannelsLast(stream, shape, num, options, dy, weights, dx);
  } else if (options.use_cudnn && IsHost(stream)) {
    stream.RunOnHost(
        [=] { kernels::ConvolutionBackwardData<T, T>(shape, num, dy, weights, nullptr, dx); });
  } else if (!options.use_cudnn ||
             !CudnnConvolutionBackwardData(stream, shape, num, options, dy, weights, dx)) {
    BackwardDataOnOwnKernels(stream, shape, num, dy, weights, dx);
  }
  AddBias(stream, num, shape.channels, shape.input_spatial(), options.channels_last, bias, dx);
}

template <typename T>
void ConvolutionBackwardWeights(Stream& stream, const ConvolutionShape& shape, int num,
                                const ConvolutionOptions& options, const T* x, const T* dy,
                                AccumulatorType<T>* d_weights) {
  if (num == 0 || shape.input_size() == 0 || shape.output_size() == 0) return;
  if (options.channels_last) {
    BackwardWeightsChannelsLast(stream, shape, num, options, x, dy, d_weights);
  } else if (options.use_cudnn && IsHost(stream)) {
    stream.RunOnHost(
        [=] { kernels::ConvolutionBackwardWeights<T, T>(shape, num, x, dy, d_weights); });
  } else if (!options.use_cudnn ||
             !CudnnConvolutionBackwardWeights(stream, shape, num, options, x, dy, d_weights)) {
    BackwardWeightsOnOwnKernels(stream, shape, num, x, dy, d_weights);
  }
}

#define INSTANTIATE(T)                                                                    \
  template void ConvolutionForward(Stream&, const ConvolutionShape&, int,                 \
                                   const ConvolutionOptions&, const T*, const T*,         \
                                   const AccumulatorType<T>*, T*);                        \
  template void ConvolutionBackwardData(Stream&, const ConvolutionShape&, int,            \
                                        const ConvolutionOptions&, const T*, const T*,    \
                                        const AccumulatorType<T>*, T*);                   \
  template void ConvolutionBackwardWeights(Stream&, const ConvolutionShape&, int,         \
                                           const ConvolutionOptions&, const T*, const T*, \
                                           AccumulatorType<T>*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace caffe::cuda
