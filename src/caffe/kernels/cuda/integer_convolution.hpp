#ifndef CAFFE_KERNELS_CUDA_INTEGER_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CUDA_INTEGER_CONVOLUTION_HPP_

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cuda/integers.hpp"

namespace caffe::cuda {

/// Weights of 8-bit integers on the device, packed: (kernel position, channels / group in words of
/// four, output, channel of the word).
struct IntegerWeights {
  const void* data = nullptr;
  bool is_unsigned = false;
  int32_t zero_point = 0;
};
/// Bytes of packed weights.
size_t PackedIntegersSize(const kernels::ConvolutionShape& shape);
/// Packs weights (outputs, channels / group, kernel...) on the host; words are padded with
/// `zero_point`.
void PackIntegers(const kernels::ConvolutionShape& shape, const uint8_t* weights,
                  uint8_t zero_point, uint8_t* packed);

/// The maximum number of spatial axes.
constexpr int kMaxIntegerAxes = 8;

/// IntegerConvolution or, with `transposed`, IntegerDeconvolution of kernels/integer_reference.hpp;
/// without spatial axes, IntegerInnerProduct with images as rows. Sums must fit 32 bits. The arrays
/// of `by` are on the device. Adjacent channels of x, in whole words, are multiplied four at a
/// time.
void ConvolveIntegers(Stream& stream, const kernels::ConvolutionShape& shape, bool transposed,
                      const Integers& x, const IntegerWeights& weights,
                      const kernels::Rescaling& by, const Integers& y);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_INTEGER_CONVOLUTION_HPP_
