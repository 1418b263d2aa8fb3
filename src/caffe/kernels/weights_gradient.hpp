#ifndef CAFFE_KERNELS_WEIGHTS_GRADIENT_HPP_
#define CAFFE_KERNELS_WEIGHTS_GRADIENT_HPP_

#include <cstddef>
#include <memory>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe::kernels {

/// The gradient of a convolution's weights in tiles of AMX.
///
/// x is (num, rows, columns, channels), or plain (num, channels, rows, columns); dy is (num, rows,
/// columns, outputs); each of float, float16 or bfloat16. Sums are float.
///
/// Numbers are split into bfloat16 parts, as PackedConvolution says: two of a float16, three of a
/// float. Of n products of magnitudes |x dy| a sum's error is at most
///     (2^-16 + (n + 6) 2^-23) (sum of magnitudes)
/// if x and dy are both float16, else (2^-22 + (n + 6) 2^-23) times that. An infinity or a NaN
/// makes NaNs of all gradients of its channel or output; so do floats above 2^128 - 2^119.
class WeightsGradient {
 public:
  /// Null where the processor has no tiles, and for other shapes than these: one or two spatial
  /// axes, channels and outputs of a group multiples of 16; or a plain x, in one group, whose
  /// outputs are.
  static std::shared_ptr<const WeightsGradient> Make(const ConvolutionShape& shape,
                                                     bool plain_input);
  virtual ~WeightsGradient() = default;

  /// Bytes that Add needs, aligned to 64, with the threads that OpenMP would use now.
  virtual size_t scratch_bytes(int num, ElementType x, ElementType dy) const = 0;
  /// d_weights (outputs, channels / group, kernel...) += the gradient, of `num` images. The same
  /// bits for any number of threads.
  virtual void Add(int num, const Numbers& x, const Numbers& dy, void* scratch,
                   float* d_weights) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_WEIGHTS_GRADIENT_HPP_
