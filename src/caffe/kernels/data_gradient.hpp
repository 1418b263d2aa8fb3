#ifndef CAFFE_KERNELS_DATA_GRADIENT_HPP_
#define CAFFE_KERNELS_DATA_GRADIENT_HPP_

#include <cstddef>
#include <memory>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe::kernels {

/// The gradient of a convolution's images in tiles of AMX: a convolution of dy, by
/// PackedConvolution::MakeChannelsLast, with the kernel turned around. With a stride, each *phase*
/// of dx, every stride-th pixel, has some of the kernel's positions and a convolution of its own.
///
/// dx is (num, rows, columns, channels), dy (num, rows, columns, outputs), each of float, float16
/// or bfloat16. Errors are bounded as PackedConvolution says, for math of FLOAT16.
class DataGradient {
 public:
  /// Null where the processor has no tiles, and for other shapes than these: one or two spatial
  /// axes, channels and outputs of a group multiples of 16.
  static std::shared_ptr<const DataGradient> Make(const ConvolutionShape& shape);
  virtual ~DataGradient() = default;

  /// Bytes that Run needs, aligned to 64, with the threads that OpenMP would use now.
  virtual size_t scratch_bytes(int num, ElementType dx) const = 0;
  /// dx = the gradient, of `num` images; weights (outputs, channels / group, kernel...) of 16 bits.
  virtual void Run(int num, const Numbers& dy, const Numbers& weights, void* scratch,
                   const Destination& dx) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_DATA_GRADIENT_HPP_
