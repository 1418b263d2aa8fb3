#ifndef CAFFE_KERNELS_CUDA_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CUDA_CONVOLUTION_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/convolution.hpp"

namespace caffe::cuda {

/// What a layer's parameters say of how its products are computed.
struct ConvolutionOptions {
  bool use_cudnn = true;  ///< else the library's own kernels and cuBLASLt
  /// cuDNN's algorithms by number (cudnnConvolutionFwdAlgo_t and so on); -1: the fastest.
  int forward_algorithm = -1, data_algorithm = -1, weights_algorithm = -1;
  /// cuDNN's cudnnMathType_t by number; -1: tensor cores for float16, and for float nothing that
  /// rounds its factors (no TF32).
  int math = -1;
  /// Channels are last in x, y and their gradients, and in the weights, (outputs, kernel...,
  /// channels of a group); gradients of weights are in Caffe's order all the same.
  bool channels_last = false;
};

/// When convolutions take and give channels last: where it PAYS, as ChannelsLastPays says, or, for
/// tests and benchmarks, never or wherever there are spatial axes.
enum class ChannelsLastUse { WHERE_IT_PAYS, NEVER, ALWAYS };
/// Of this process. At first what the environment says in CAFFE_CHANNELS_LAST: 0 is never, 1
/// always.
ChannelsLastUse GetChannelsLastUse();
void SetChannelsLastUse(ChannelsLastUse use);
/// A use as long as this lives.
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
/// True if a convolution whose products are of elements of `type` should have channels last.
bool ChannelsLastPays(const kernels::ConvolutionShape& shape, const ConvolutionOptions& options,
                      ElementType type);

// On device memory, for `num` images. T: float, double or float16, with sums in float for float16.
// By cuDNN where it can and may, with the algorithm that was the fastest of cuDNN's proposals in
// the first call with these sizes; else directly where there is a group for each channel, and by
// column matrices. With channels last, groups of one channel are always computed directly, and what
// cuDNN does not compute so is turned into Caffe's order, computed and turned back. A bias has one
// number an output (an input channel, in the gradient), and may be null. Throws Error where the
// options ask for an algorithm that cuDNN cannot compute the product with.

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

/// kernels::Im2col of `num` images of `channels` channels, one behind another. T and C: the same.
template <typename T>
void Im2col(Stream& stream, const kernels::ConvolutionShape& shape, int num, int channels,
            const T* image, T* column);
/// kernels::Col2im of the same. C and T: the same, or float and float16.
template <typename C, typename T>
void Col2im(Stream& stream, const kernels::ConvolutionShape& shape, int num, int channels,
            const C* column, T* image);

// The products without a bias of shapes with a group for each channel, directly; weights are the
// same in both orders.
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
