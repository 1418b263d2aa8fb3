#ifndef CAFFE_KERNELS_INT8_CONVOLUTION_HPP_
#define CAFFE_KERNELS_INT8_CONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "caffe/kernels/tile_shape.hpp"

namespace caffe::kernels {

class RescalingRows;

/// Convolution of 8-bit integers. Sums of products are exact 32-bit integers; outputs are computed
/// from them in float without fused operations, or with integers alone (Rescaling): the same bits
/// on every instruction set and with any number of threads.
///
/// Input and output are (num, channels / block(), rows, columns, block()), the last block padded
/// with zero bytes, in the output too, whatever its zero point. A plain input is (num, channels,
/// rows, columns): for the few channels of an image. The input is int8_t or uint8_t;
/// it is padded with its zero point, whose products are part of the sums: the caller's bias
/// subtracts them, as it does for all other inputs.
class Int8Convolution {
 public:
  /// For one or two spatial axes, groups of whole blocks or of one channel with one output each,
  /// and at most 66,000 products per sum, which fits 32 bits; null for other shapes. `plain_input`
  /// is for a single group.
  static std::shared_ptr<const Int8Convolution> Make(const ConvolutionShape& shape,
                                                     bool plain_input);
  /// The same results, by products of bytes, for weights of which PairsFit. Null also for groups of
  /// one channel, and where the processor gains nothing by it: AVX2 and AVX-512 without VNNI do.
  /// `copies`: for 1x1 kernels on blocks, whose inputs are copied to lie side by side; of many
  /// channels that may be faster.
  static std::shared_ptr<const Int8Convolution> MakeForSmallPairs(const ConvolutionShape& shape,
                                                                  bool plain_input,
                                                                  bool copies = false);
  /// True if all pairs of weights (as for PackWeights) fit (weight_pairs.hpp).
  static bool PairsFit(const ConvolutionShape& shape, bool plain_input, const int8_t* weights);
  /// The same results with channels last: of the output, and of the input if it is not plain. Null
  /// also where the processor has no tiles, unless each group is one channel; such a convolution is
  /// the same as above, and packs its weights alike.
  static std::shared_ptr<const Int8Convolution> MakeChannelsLast(const ConvolutionShape& shape,
                                                                 bool plain_input,
                                                                 TileShape tile_shape);
  /// The same results by Winograd's algorithm (Lavin and Gray, 2015) in 16-bit integers, which is
  /// exact, for tiles of 2 x 2 or 4 x 4 outputs (`side` 2 or 4): for 3x3 and 5x5 kernels, stride
  /// and dilation 1, pad less than the kernel, one group or groups of whole blocks of 16, and at
  /// most 16,560 products per sum; null for other shapes. Packed weights are the same for both
  /// sides: as many as above for 3x3 kernels, 36 instead of 25 for 5x5 ones.
  static std::shared_ptr<const Int8Convolution> MakeWinograd(const ConvolutionShape& shape,
                                                             int side);
  /// True if tiles of this side give those results for these weights (as for PackWeights), whatever
  /// the input: with 4 x 4 outputs 64 times each sum has to fit 32 bits.
  static bool SumsFitWinograd(const ConvolutionShape& shape, int side, const int8_t* weights);
  virtual ~Int8Convolution() = default;

  virtual int block() const = 0;  ///< channels of a block: 8 or 16
  virtual bool plain_input() const = 0;
  /// Elements of the packed weights: those of the shape, zeros that pad blocks, and by products of
  /// bytes four per output.
  virtual size_t packed_size() const = 0;
  /// Bytes that Forward needs as scratch, aligned to 64.
  virtual size_t scratch_bytes(int num) const = 0;

  /// packed = the weights (outputs, channels / group, kernel...) in the order that Forward reads.
  virtual void PackWeights(const int8_t* weights, int8_t* packed) const = 0;

  /// y = post(conv(x)) in float. x: int8_t or uint8_t; y and the residual: float, int8_t or uint8_t
  /// each. Work is spread over images, rows and outputs. `input_zero_point` is the byte that pads
  /// the input.
  virtual void Forward(int num, Numbers x, const int8_t* packed, const PostOps& post, void* scratch,
                       Destination y, int input_zero_point = 0) const = 0;

  /// What Forward reads of `by` and a residual, whose data may differ by then, for outputs of
  /// `type`, INT8 or UINT8. Throws Error if the output's zero_point, least or most is not a value
  /// of that type, or the residual's form is not for bytes from least to most.
  virtual std::shared_ptr<const RescalingRows> Prepare(
      const Rescaling& by, ElementType type, const Residual* residual = nullptr) const = 0;

  /// y = Rescaled(by, output, sum) or, with a residual, which is laid out as y and may be y,
  /// residual->sum.Of(that, the residual's byte), bit for bit. x and y: int8_t or uint8_t each. The
  /// arrays of `by` have one number per output. `rows`: what Prepare made of both; null: they are
  /// prepared now, with Prepare's errors.
  virtual void Forward(int num, Numbers x, const int8_t* packed, const Rescaling& by, void* scratch,
                       Destination y, const Residual* residual = nullptr,
                       const RescalingRows* rows = nullptr) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INT8_CONVOLUTION_HPP_
