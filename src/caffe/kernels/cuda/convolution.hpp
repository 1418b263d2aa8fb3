#ifndef CAFFE_KERNELS_CUDA_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CUDA_CONVOLUTION_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/convolution.hpp"

namespace caffe::cuda {

/// A layer's parameters for how its products are computed.
struct ConvolutionOptions {
  bool use_cudnn = true;  ///< else this library's kernels and cuBLASLt
  /// cuDNN's algorithms by number (cudnnConvolutionFwdAlgo_t and so on); -1: the fastest.
  int forward_algorithm = -1, data_algorithm = -1, weights_algorithm = -1;
  /// cuDNN's cudnnMathType_t by number; -1: tensor cores for float16, and for float no rounding of
  /// factors (no TF32).
  int math = -1;
  /// Channels are last in x, y and their gradients, and in the weights, (outputs, kernel...,
  /// channels of a group); gradients of weights are still in Caffe's order.
  bool channels_last = false;
};

/// When convolutions have channels-last inputs and outputs: where ChannelsLastPays or, for tests
/// and benchmarks, never, or whenever there are spatial axes.
enum class ChannelsLastUse { WHERE_IT_PAYS, NEVER, ALWAYS };
/// This process's setting. Initially from the environment variable CAFFE_CHANNELS_LAST: 0 is never,
/// 1 always.
ChannelsLastUse GetChannelsLastUse();
void SetChannelsLastUse(ChannelsLastUse use);
/// Sets a use for its lifetime.
class ChannelsLastScope {
 public:
  explicit ChannelsLastScope(ChannelsLastUse use) : before_(GetChannelsLastUse()) {
    SetChannelsLastUse(use);
  }
  ~ChannelsLastScope() { SetChannelsLastUse(before_); }
  ChannelsLastScope(const ChannelsLastScope&) = delete;
  ChannelsLastScope& operator=(const ChannelsLastScope&) = delete;

 private:
  const ChannelsLastUse before_;
};
/// True if a convolution with products of `type` should be channels-last.
bool ChannelsLastPays(const kernels::ConvolutionShape& shape, const ConvolutionOptions& options,
                      ElementType type);

// On device memory, for `num` images. T: float, double or float16, with sums in float for float16.
// By cuDNN if possible and allowed, with the algorithm that was the fastest of cuDNN's proposals in
// the first call with these sizes; else directly for one group per channel, and by column matrices
// otherwise. With channels last, groups of one channel are always computed directly, and shapes
// that cuDNN does not support so are transposed to Caffe's order, computed and transposed back. A
// bias has one number per output (per input channel, in the gradient), and may be null. Throws
// Error if cuDNN cannot compute the product with the requested algorithm.

/// y = conv(x, w) + bias.
template <typename T>
void ConvolutionForward(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                        const ConvolutionOptions& options, const T* x, const T* weights,
                        const AccumulatorType<T>* bias, T* y);
/// dx = the gradient with respect to x, plus bias: the value of a deconvolution.
template <typename T>
void ConvolutionBackwardData(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                             const ConvolutionOptions& options, const T* dy, const T* weights,
                             const AccumulatorType<T>* bias, T* dx);
/// d_weights += the gradient with respect to the weights.
template <typename T>
void ConvolutionBackwardWeights(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                                const ConvolutionOptions& options, const T* x, const T* dy,
                                AccumulatorType<T>* d_weights);

/// kernels::Im2col of `num` contiguous images of `channels` channels. T and C: the same.
template <typename T>
void Im2col(Stream& stream, const kernels::ConvolutionShape& shape, int num, int channels,
            const T* image, T* column);
/// kernels::Col2im of the same. C and T: the same, or float and float16.
template <typename C, typename T>
void Col2im(Stream& stream, const kernels::ConvolutionShape& shape, int num, int channels,
            const C* column, T* image);

// The products, without bias, for shapes with one group per channel, computed directly; weights are
// the same in both orders.
template <typename T>
void DepthwiseForward(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                      bool channels_last, const T* x, const T* weights, T* y);
template <typename T>
void DepthwiseBackwardData(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                           bool channels_last, const T* dy, const T* weights, T* dx);
template <typename T>
void DepthwiseBackwardWeights(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                              bool channels_last, const T* x, const T* dy,
                              AccumulatorType<T>* d_weights);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_CONVOLUTION_HPP_
