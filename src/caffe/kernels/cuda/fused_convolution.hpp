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

/// Bytes of which the addresses of all that a convolution works on are multiples: what cuDNN is
/// promised.
constexpr size_t kOperandAlignment = 16;

/// Products of 8-bit integers that a 32-bit sum has room for: times 255 times 127 is below 2^31.
constexpr size_t kMaxIntegerProducts = 66'000;

/// A convolution with all that follows it in one kernel:
///
///     y = f(scales[o] * sum + bias[o] + residual)         scales: of 8-bit integers only
///
/// Sums are float, exact 32-bit integers for integers. Channels-last arrays are Pixels, others
/// Planes.
struct ConvolutionProblem {
  int num = 0;                      ///< images
  kernels::ConvolutionShape shape;  ///< of one or two spatial axes
  bool channels_last = true;
  /// Channels that are not there to fill up, whose weights are 0 wherever they are; 0: all.
  int used_channels = 0;
  /// FLOAT, FLOAT16, BFLOAT16, INT8, UINT8. Weights have the input's type, INT8 for integers.
  /// cuDNN has no unsigned input: on tensor cores only INT8 is fast.
  ElementType input = ElementType::FLOAT;
  ElementType output = ElementType::FLOAT;    ///< any of these, whatever the input's
  ElementType residual = ElementType::FLOAT;  ///< likewise
  bool has_bias = true, has_residual = false;
  /// Channels-last: elements from one pixel to the next; else from one image to the next. 0: they
  /// lie side by side.
  size_t input_stride = 0, output_stride = 0, residual_stride = 0;
  kernels::Activation activation;  ///< of PostOps; its slopes are those of the arguments
  /// FLOAT factors may be rounded to TF32's 10 bits, for tensor cores.
  bool tf32 = false;
};

/// What one computation works on: device memory at multiples of kOperandAlignment, and numbers of
/// the host.
struct ConvolutionArguments {
  const void* x = nullptr;
  const void* weights = nullptr;  ///< as PackWeights has ordered them
  const float* scales = nullptr;  ///< one an output: the input's scale times the weights'; integers
  const float* bias = nullptr;    ///< one an output
  const float* slopes = nullptr;  ///< one an output, of PRELU
  const void* residual = nullptr;  ///< shaped as y; may be y where types and strides are the same
  float residual_scale = 1;        ///< of integers
  void* y = nullptr;
  float output_scale = 1;  ///< of integers
};

/// One way of computing one problem on one GPU. Unchanging: threads may share it.
class FusedConvolution {
 public:
  virtual ~FusedConvolution() = default;
  /// Says which way it is, for FusedConvolutionNamed: "cudnn 28 2=21 3=0", "direct", ...
  virtual const std::string& name() const = 0;
  /// Device memory that Run needs, aligned to 256 bytes.
  virtual size_t workspace_bytes() const { return 0; }
  /// Starts the computation on `stream`, of the device that it was made for. Allocates nothing and
  /// waits for nobody: it may be captured in a CUDA graph. Throws Error.
  virtual void Run(Stream& stream, const ConvolutionArguments& arguments,
                   void* workspace) const = 0;
};

/// The ways of computing a problem on `stream`'s device; the one that is expected to be the fastest
/// first, for the caller to time. Those that need more workspace than `most_workspace` bytes are
/// left out. At least one for a problem with one or two axes whose sums fit, none for others:
///   "cudnn ..."        the whole of it as one operation graph of cuDNN 9
///   "cudnn+finish ..." cuDNN's convolution in y's place or the workspace, then ApplyToPixels
///   "folded ..."       squares of stride x stride pixels of few channels as one pixel, then one of
///                      the ways above
///   "depthwise"        a group for each channel, channels-last: an own kernel
///   "direct"           an own kernel for any problem, one output a thread: slow
/// Without cuDNN, and for UINT8, only own kernels. On the tests' device, where cuDNN is not,
/// "cudnn" is there too: the host computes it.
std::vector<std::shared_ptr<const FusedConvolution>> FusedConvolutions(
    Stream& stream, const ConvolutionProblem& problem, size_t most_workspace = size_t(1) << 30);

/// Runs `ask`, in which for the calling thread FusedConvolutions finds none of cuDNN's ways and
/// FusedConvolutionNamed returns one that cannot run, but both note what they are asked for; then
/// makes all of these, in many threads. The next time they are found at once.
void MakeConvolutionsAskedFor(const std::function<void()>& ask);
/// True for the calling thread within `ask`.
bool NotesConvolutions();

/// The way of that name. Throws Error where there is none here: another GPU, another cuDNN.
std::shared_ptr<const FusedConvolution> FusedConvolutionNamed(Stream& stream,
                                                              const ConvolutionProblem& problem,
                                                              const std::string& name);

/// True where a problem is computed by "depthwise": as many groups as channels, channels-last.
bool IsChannelsLastDepthwise(const kernels::ConvolutionShape& shape, bool channels_last);

/// Weights as all ways of computing such a problem read them, from Caffe's order (outputs,
/// channels / group, kernel...), which is that of a problem that is not channels_last. Of one that
/// is: (outputs, kernel..., channels / group); for IsChannelsLastDepthwise (kernel..., outputs).
/// Memory of the host. T: float, float16, bfloat16, int8_t.
template <typename T>
void PackWeights(const kernels::ConvolutionShape& shape, bool channels_last, const T* weights,
                 T* packed);

/// Of how many the channels of inputs of this type should be a multiple for tensor cores,
/// channels-last: fill up channels with zeros, and weights with zeros for them.
int ChannelAlignment(ElementType type);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_FUSED_CONVOLUTION_HPP_
