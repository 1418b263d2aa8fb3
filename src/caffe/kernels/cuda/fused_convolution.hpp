#ifndef CAFFE_KERNELS_CUDA_FUSED_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CUDA_FUSED_CONVOLUTION_HPP_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"

namespace caffe::cuda {

/// Alignment in bytes of all operands of a convolution, as promised to cuDNN.
constexpr size_t kOperandAlignment = 16;

/// Products of 8-bit integers that fit a 32-bit sum: times 255 times 127 is below 2^31.
constexpr size_t kMaxIntegerProducts = 66'000;

/// A convolution fused with what follows it, in one kernel:
///
///     y = f(scales[o] * sum + bias[o] + residual)         scales: for 8-bit integers only
///
/// Sums are float, exact 32-bit integers for integers. Channels-last arrays are Pixels, others
/// Planes.
struct ConvolutionProblem {
  int num = 0;                      ///< images
  kernels::ConvolutionShape shape;  ///< of one or two spatial axes
  bool channels_last = true;
  /// Channels that are not padding; the weights of padding are 0 wherever it is. 0: all.
  int used_channels = 0;
  /// FLOAT, FLOAT16, BFLOAT16, INT8, UINT8. Weights have the input's type, INT8 for integers.
  /// cuDNN has no unsigned input, so only INT8 is fast on tensor cores.
  ElementType input = ElementType::FLOAT;
  ElementType output = ElementType::FLOAT;    ///< any of these, independent of the input's
  ElementType residual = ElementType::FLOAT;  ///< likewise
  bool has_bias = true, has_residual = false;
  /// Channels-last: elements from one pixel to the next; else from one image to the next. 0:
  /// contiguous.
  size_t input_stride = 0, output_stride = 0, residual_stride = 0;
  kernels::Activation activation;  ///< of PostOps; its slopes are those of the arguments
  /// FLOAT factors may be rounded to the 10 bits of TF32, for tensor cores.
  bool tf32 = false;
};

/// Arguments of one computation: device memory aligned to kOperandAlignment, and host numbers.
struct ConvolutionArguments {
  const void* x = nullptr;
  const void* weights = nullptr;   ///< as PackWeights has ordered them
  const float* scales = nullptr;   ///< one per output, for integers: the input's times the weights'
  const float* bias = nullptr;     ///< one per output
  const float* slopes = nullptr;   ///< one per output, for PRELU
  const void* residual = nullptr;  ///< shaped as y; may be y if types and strides are the same
  float residual_scale = 1;        ///< of integers
  void* y = nullptr;
  float output_scale = 1;  ///< of integers
};

/// One way of computing one problem on one GPU. Immutable: threads may share it.
class FusedConvolution {
 public:
  virtual ~FusedConvolution() = default;
  /// Identifies it for FusedConvolutionNamed: "cudnn 28 2=21 3=0", "direct", ...
  virtual const std::string& name() const = 0;
  /// Device memory that Run needs, aligned to 256 bytes.
  virtual size_t workspace_bytes() const { return 0; }
  /// Starts the computation on `stream`, of the device that it was made for. Allocates nothing and
  /// does not wait, so it may be captured in a CUDA graph. Throws Error.
  virtual void Run(Stream& stream, const ConvolutionArguments& arguments,
                   void* workspace) const = 0;
};

/// The ways of computing a problem on `stream`'s device, the one expected to be fastest first, for
/// the caller to time. Those that need more workspace than `most_workspace` bytes are left out. At
/// least one for a problem with one or two axes whose sums fit, none for others:
///   "cudnn ..."        all of it as one operation graph of cuDNN 9
///   "cudnn+finish ..." cuDNN's convolution in y's place or the workspace, then ApplyToPixels
///   "folded ..."       squares of stride x stride pixels of few channels as one pixel, then one of
///                      the above
///   "depthwise"        one group per channel, channels-last: this library's kernel
///   "direct"           this library's kernel for any problem, one output per thread: slow
/// Without cuDNN, and for UINT8, only the last two. On the tests' device, which has no cuDNN,
/// "cudnn" is available too: the host computes it.
std::vector<std::shared_ptr<const FusedConvolution>> FusedConvolutions(
    Stream& stream, const ConvolutionProblem& problem, size_t most_workspace = size_t(1) << 30);

/// Runs `ask`, during which, for the calling thread, FusedConvolutions returns none of cuDNN's ways
/// and FusedConvolutionNamed returns one that cannot run, but both record the requests; then
/// creates all of these on many threads, so that later requests return at once.
void MakeConvolutionsAskedFor(const std::function<void()>& ask);
/// True for the calling thread during `ask`.
bool NotesConvolutions();

/// The way with that name. Throws Error if there is none here (another GPU, another cuDNN).
std::shared_ptr<const FusedConvolution> FusedConvolutionNamed(Stream& stream,
                                                              const ConvolutionProblem& problem,
                                                              const std::string& name);

/// True where a problem is computed by "depthwise": one group per channel, channels-last.
bool IsChannelsLastDepthwise(const kernels::ConvolutionShape& shape, bool channels_last);

/// Weights in the order that all ways of computing such a problem read, from Caffe's order
/// (outputs, channels / group, kernel...). Without channels_last they stay in Caffe's order; with
/// it, the order is (outputs, kernel..., channels / group) or, for IsChannelsLastDepthwise,
/// (kernel..., outputs). Host memory. T: float, float16, bfloat16, int8_t.
template <typename T>
void PackWeights(const kernels::ConvolutionShape& shape, bool channels_last, const T* weights,
                 T* packed);

/// The number that the channels of channels-last inputs of this type should be a multiple of for
/// tensor cores: pad channels with zeros, and weights with zeros for them.
int ChannelAlignment(ElementType type);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_FUSED_CONVOLUTION_HPP_
