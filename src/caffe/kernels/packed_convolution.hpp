#ifndef CAFFE_KERNELS_PACKED_CONVOLUTION_HPP_
#define CAFFE_KERNELS_PACKED_CONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "caffe/element_type.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "caffe/kernels/tile_shape.hpp"

namespace caffe::kernels {

/// Convolution of channels in blocks, directly from 16 bits to 16 bits: values are widened once
/// into a buffer that stays in a core's cache, summed in float in registers, and rounded once,
/// after bias and activation.
///
/// Input and output are (num, channels / block(), rows, columns, block()), the last block padded
/// with zeros, in the output too. A plain input is (num, channels, rows, columns): for the few
/// channels of an image. Each may hold float, float16 or bfloat16, and so may the weights.
///
/// Sums run over the channels and the kernel's positions, in float; the padding takes part as
/// zeros, or not at all. For n terms with magnitudes |x w|, plus bias and residual, the error is at
/// most
///     (n + 2) 2^-23 (sum of magnitudes) + r |y|,  r = 2^-11 for float16, 2^-8 for bfloat16.
///
/// With AMX, dense convolutions multiply bfloat16 numbers into which x and weights are split: a
/// float16 is exactly the sum of two, a float of three. Their error is at most
///     (b + (n + 6) 2^-23) (sum of magnitudes) + r |y|,
/// where b bounds the omitted products of small parts: 2^-16 if x and weights are float16 and math
/// is FLOAT16, 2^-15 if then x is float and has channels last or is plain, 2^-22 if one of them is
/// float, else 0. This holds for sums of magnitudes below 2^127
/// and, unless both are float16, up to another n 2^-123: subnormals become zero. Infinities, NaNs
/// and floats that are not a sum of three bfloat16 are multiplied without splitting.
class PackedConvolution {
 public:
  /// Elements from one weight to the next along each axis, for weights in another order.
  struct WeightStrides {
    ptrdiff_t group, output, channel, row, column;
  };

  /// For one or two spatial axes, and groups of whole blocks or of one channel with one output
  /// each; null for other shapes. `plain_input` is for a single group. `math` is FLOAT16 where
  /// products of float16 may be rounded, by less than float16 itself rounds.
  static std::shared_ptr<const PackedConvolution> Make(const ConvolutionShape& shape,
                                                       bool plain_input,
                                                       ElementType math = ElementType::FLOAT);
  /// The same with channels last: of the output, and of the input if it is not plain. Where `math`
  /// is BFLOAT16, x is rounded to it. Null also where the processor has no tiles, unless each group
  /// is one channel; such a convolution is the same as above, and packs its weights alike.
  static std::shared_ptr<const PackedConvolution> MakeChannelsLast(const ConvolutionShape& shape,
                                                                   bool plain_input,
                                                                   ElementType math,
                                                                   TileShape tile_shape);
  /// The same for weights of BFLOAT16, by products of two of them at a time: x is rounded to it,
  /// and subnormals may become zero. A plain input has up to 4 channels. Null also for groups of
  /// one channel, and where the instruction set in use has no such products (AVX512-BF16 has; the
  /// plain one computes them in C++).
  static std::shared_ptr<const PackedConvolution> MakeInPairs(const ConvolutionShape& shape,
                                                              bool plain_input);
  virtual ~PackedConvolution() = default;

  virtual int block() const = 0;  ///< channels of a block: 8 or 16
  virtual bool plain_input() const = 0;
  /// Elements of the packed weights: those of the shape, and zeros that pad blocks.
  virtual size_t packed_size() const = 0;
  /// Floats that Forward needs as scratch.
  virtual size_t scratch_size(int num) const = 0;

  /// packed = the weights (outputs, channels / group, kernel...) in the order that Forward reads,
  /// times scale[output] if that is given; and back. V and W: float, float16 or bfloat16.
  template <typename V, typename W>
  void PackWeights(const V* weights, const float* scale, W* packed) const;
  template <typename W>
  void UnpackWeights(const W* packed, W* weights) const;

  /// packed = weights of 16 bits, the first of which is `weights`, by several threads. Throws Error
  /// where there are no such kernels: those of MakeChannelsLast have them, but of single channels.
  virtual void PackStrided(const uint16_t* weights, const WeightStrides& strides,
                           uint16_t* packed) const;

  /// y = post(conv(x)). x, weights and y: float, float16 or bfloat16 each; the residual is of y's
  /// type. Work is spread over images, rows and outputs.
  virtual void Forward(int num, Numbers x, Numbers weights, const PostOps& post, float* scratch,
                       Destination y) const = 0;

 protected:
  /// Calls f(index among the packed weights, index among the weights) for each weight; all other
  /// packed elements are zero.
  virtual void ForEachWeight(const std::function<void(size_t, size_t)>& f) const = 0;
  virtual size_t weights_of_an_output() const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PACKED_CONVOLUTION_HPP_
