#ifndef CAFFE_KERNELS_BYTE_DECONVOLUTION_HPP_
#define CAFFE_KERNELS_BYTE_DECONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/kernels/fused_function.hpp"
#include "caffe/pointwise.hpp"

namespace caffe {
namespace kernels {

/// A Deconvolution of each channel by itself, as nets enlarge pictures with: x (num, channels,
/// height, width) becomes (num, channels, out_height, out_width).
struct ByteDeconvolutionShape {
  int num = 0, channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  int kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0}, dilation[2] = {1, 1};
};

/// What follows the sums.
struct ByteDeconvolutionEnd {
  const float* bias = nullptr;  ///< one a channel, filled up to whole blocks
  PointwiseActivation activation;
  FusedFunction function;
  float factor = 1;  ///< 1 / scale, where Y is an integer
};

/// y = function(activation(sum + bias)), where x stands for x_scale x, computed in float and, for Y
/// = int8_t or uint8_t, rounded and saturated as by Quantize; Y may be float. Channels lie in
/// blocks of `block`, the last one filled up with zeros. `weights`: (channels / block, kernel[0],
/// kernel[1], block).
template <typename X, typename Y>
void ByteDeconvolution(const ByteDeconvolutionShape& shape, int block, float x_scale, const X* x,
                       const float* weights, const ByteDeconvolutionEnd& end, Y* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_BYTE_DECONVOLUTION_HPP_
