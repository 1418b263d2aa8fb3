#ifndef CAFFE_KERNELS_INT8_CONVOLUTION_HPP_
#define CAFFE_KERNELS_INT8_CONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/fused_function.hpp"
#include "caffe/kernels/image_strides.hpp"
#include "caffe/pointwise.hpp"

namespace caffe {
namespace kernels {

class RescalingRows;

/// Convolution of 8-bit integers. Sums of products are exact 32-bit integers, and what becomes of
/// them is computed in float without fused operations, or with integers alone (Rescaling): the same
/// bits on every instruction set and with any number of threads.
///
/// Input and output are (num, channels / block(), rows, columns, block()), the last block filled up
/// with bytes of 0, which the output's are too, whatever its zero point. A plain input is (num,
/// channels, rows, columns): for the few channels of an image. The input is int8_t or uint8_t;
/// what pads it is its zero point, whose products are part of the sums: the caller's bias takes
/// them off as it does those of all other inputs.
class Int8Convolution {
 public:
  /// For one or two spatial axes, groups of whole blocks or of one channel with one output each,
  /// and at most 66,000 products a sum, which 32 bits hold; null for other shapes. `plain_input` is
  /// for a single group.
  static std::shared_ptr<const Int8Convolution> Make(const ConvolutionShape& shape,
                                                     bool plain_input);
  /// The same results by Winograd's algorithm (Lavin and Gray, 2015) in 16-bit whole numbers, which
  /// loses nothing, for tiles of 2 x 2 or 4 x 4 outputs (`side` 2 or 4): for 3x3 and 5x5 kernels,
  /// stride and dilation 1, pad less than the kernel, one group or groups of whole blocks of 16,
  /// and at most 16,560 products a sum; null for other shapes. Packed weights are the same for both
  /// sides: as many as above for 3x3 kernels, 36 in place of 25 for 5x5 ones.
  static std::shared_ptr<const Int8Convolution> MakeWinograd(const ConvolutionShape& shape,
                                                             int side);
  /// True if tiles of this side give those results for these weights (as for PackWeights), whatever
  /// the input: with 4 x 4 outputs 64 times each sum has to fit 32 bits.
  static bool SumsFitWinograd(const ConvolutionShape& shape, int side, const int8_t* weights);
  virtual ~Int8Convolution() = default;

  virtual int block() const = 0;  ///< channels of a block: 8 or 16
  virtual bool plain_input() const = 0;
  /// Elements of the packed weights: those of the shape, zeros for what fills up blocks, and with
  /// VNNI four bytes for each output.
  virtual size_t packed_size() const = 0;
  /// Bytes that Forward needs as scratch, aligned to 64.
  virtual size_t scratch_bytes(int num) const = 0;

  /// packed = the weights (outputs, channels / group, kernel...) in the order that Forward reads.
  virtual void PackWeights(const int8_t* weights, int8_t* packed) const = 0;

  /// y = function(activation(scale[o] * sum + bias[o] + residual_scale * residual)) as float, or
  /// times `factor`, rounded to the nearest integer (halves to even), plus zero_point and
  /// saturated: to [-127, 127] for int8_t, to [0, 255] for uint8_t.
  template <typename Y, typename R = Y>
  struct Epilogue {
    const float* scale = nullptr;  ///< of each output: input's scale times the weights'
    const float* bias = nullptr;   ///< of each output, or null
    const R* residual = nullptr;   ///< shaped as y, may be y; or null
    float residual_scale = 1;      ///< of a float residual too
    PointwiseActivation activation;
    float factor = 1;  ///< 1 / the output's scale
    FusedFunction function = {};
    int input_zero_point = 0;  ///< the byte that pads the input
    int zero_point = 0;        ///< the output's, if that is bytes
  };

  /// X: int8_t or uint8_t; Y and R, the residual's: float, int8_t or uint8_t each. Work is spread
  /// over images, rows and outputs.
  template <typename X, typename Y, typename R>
  void Forward(int num, const X* x, const int8_t* packed, const Epilogue<Y, R>& epilogue,
               void* scratch, Y* y, const ImageStrides& strides = {}) const {
    static_assert(sizeof(X) == 1, "int8_t or uint8_t");
    const Writing writing = {epilogue.scale,
                             epilogue.bias,
                             epilogue.residual,
                             KindOf<R>(),
                             epilogue.residual_scale,
                             epilogue.activation,
                             epilogue.function,
                             epilogue.factor,
                             KindOf<Y>(),
                             y,
                             strides,
                             epilogue.zero_point,
                             nullptr,
                             nullptr};
    Run(num, {x, std::is_signed<X>::value, epilogue.input_zero_point}, packed, writing, scratch);
  }
  /// What Forward reads of `by` and a residual, whose data may be another then, for outputs of Y.
  /// Throws Error if the zero_point, least or most of what is written is no byte of Y, or the
  /// residual's form is not one of bytes from least to most.
  template <typename Y>
  std::shared_ptr<const RescalingRows> Prepare(const Rescaling& by,
                                               const Residual* residual = nullptr) const {
    return Prepare(by, residual, KindOf<Y>());
  }

  /// y = Rescaled(by, output, sum) or, with a residual, whose data lies as y and may be y,
  /// residual->sum.Of(that, the residual's byte), to the bit. X, Y: int8_t or uint8_t each. `by`
  /// has a number for each output in its arrays. `rows`: what Prepare made of both; null: they are
  /// prepared now, and errors are Prepare's.
  template <typename X, typename Y>
  void Forward(int num, const X* x, const int8_t* packed, const Rescaling& by, void* scratch, Y* y,
               const ImageStrides& strides = {}, const Residual* residual = nullptr,
               const RescalingRows* rows = nullptr) const {
    static_assert(sizeof(X) == 1 && sizeof(Y) == 1, "int8_t or uint8_t");
    const auto prepared = rows ? nullptr : Prepare<Y>(by, residual);
    Writing writing = {};
    writing.kind = KindOf<Y>();
    writing.y = y;
    writing.strides = strides;
    writing.rows = rows ? rows : prepared.get();
    writing.added = residual;
    Run(num, {x, std::is_signed<X>::value, by.input_zero_point}, packed, writing, scratch);
  }

 protected:
  enum class Kind { FLOAT, INT8, UINT8 };
  struct Input {
    const void* data;
    bool is_signed;
    int zero_point;
  };
  struct Writing {
    const float *scale, *bias;
    const void* residual;
    Kind residual_kind;
    float residual_scale;
    PointwiseActivation activation;
    FusedFunction function = {};
    float factor;
    Kind kind;
    void* y;
    ImageStrides strides;
    int zero_point;
    const RescalingRows* rows;  ///< in place of all of the above but kind, y and strides; or null
    const Residual* added;      ///< to what is rescaled; or null
  };
  template <typename Y>
  static constexpr Kind KindOf() {
    static_assert(std::is_same<Y, float>::value || sizeof(Y) == 1, "float, int8_t or uint8_t");
    return sizeof(Y) > 1 ? Kind::FLOAT : std::is_signed<Y>::value ? Kind::INT8 : Kind::UINT8;
  }
  virtual std::shared_ptr<const RescalingRows> Prepare(const Rescaling& by,
                                                       const Residual* residual,
                                                       Kind kind) const = 0;
  virtual void Run(int num, Input x, const int8_t* packed, const Writing& writing,
                   void* scratch) const = 0;
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INT8_CONVOLUTION_HPP_
