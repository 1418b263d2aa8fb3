#ifndef CAFFE_KERNELS_DEPTHWISE_DECONVOLUTION_HPP_
#define CAFFE_KERNELS_DEPTHWISE_DECONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "caffe/element_type.hpp"
#include "caffe/kernels/fixed_point.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe::kernels {

class RescalingRows;

/// A Deconvolution of each channel by itself, as nets use for upsampling: x (num, channels, height,
/// width) becomes (num, channels, out_height, out_width).
struct DepthwiseDeconvolutionShape {
  int num = 0, channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  int kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0}, dilation[2] = {1, 1};
};

/// Such a Deconvolution of one shape, for any weights. Channels lie in blocks of the instruction
/// set's vector length (16 with AVX-512, else 8), the last one padded with zeros.
class DepthwiseDeconvolution {
 public:
  /// `to_16_bits`: Y is float16 or bfloat16.
  DepthwiseDeconvolution(const DepthwiseDeconvolutionShape& shape, bool to_16_bits);
  ~DepthwiseDeconvolution();

  /// Weights as Run reads them: (channels / block, kernel[0], kernel[1], block), from (channels,
  /// kernel[0], kernel[1]).
  static size_t packed_size(const DepthwiseDeconvolutionShape& shape);
  static void PackWeights(const DepthwiseDeconvolutionShape& shape, const float* weights,
                          float* packed);

  /// Bytes of scratch memory that Run needs.
  size_t scratch_bytes() const;
  /// y = post(x_scale sum), computed in float and rounded once. X and Y are float, float16 or
  /// bfloat16, with x_scale 1; or X is int8_t or uint8_t, standing for x_scale x, and Y one of
  /// these or float. `weights` are packed, the bias is padded to whole blocks; scale, residual and
  /// zero_point of `post` are not read.
  template <typename X, typename Y>
  void Run(float x_scale, const X* x, const float* weights, const PostOps& post, Y* y,
           void* scratch) const;
  /// What Run reads of `by`, for outputs of `type`: INT8 or UINT8. The bias has no zero point of
  /// the input folded in. Throws Error if the output's zero point, least or most is not a value of
  /// that type.
  std::shared_ptr<const RescalingRows> Prepare(const Rescaling& by, ElementType type) const;
  /// y = Rescaled(by, channel, sum of (x - input_zero_point) weight), bit for bit, where Prepare
  /// made `rows` of `by` for Y. Packed weights are whole numbers from -255 to 255, of shapes that
  /// HoldsIntegers. X, Y: int8_t or uint8_t.
  template <typename X, typename Y>
  void Run(const X* x, const float* weights, int input_zero_point, const RescalingRows& rows, Y* y,
           void* scratch) const;
  /// True if floats hold the sums of these products exactly: up to 258 of them.
  static bool HoldsIntegers(const DepthwiseDeconvolutionShape& shape);

 private:
  class Plan;
  const std::unique_ptr<const Plan> plan_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_DEPTHWISE_DECONVOLUTION_HPP_
