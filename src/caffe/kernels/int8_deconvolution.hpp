#ifndef CAFFE_KERNELS_INT8_DECONVOLUTION_HPP_
#define CAFFE_KERNELS_INT8_DECONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "caffe/kernels/int8_convolution.hpp"

namespace caffe::kernels {

/// Deconvolution of 8-bit integers with integers alone. Outputs that are a stride apart see the
/// same positions of the kernel: each such phase is a convolution with stride 1 (Int8Convolution),
/// whose outputs are then interleaved with the others'. Blobs are laid out as there.
class Int8Deconvolution {
 public:
  /// `shape` has the channels and extents of the layer's own input and output. Null if
  /// Int8Convolution does not compute a phase, if a phase sees no position of the kernel, and
  /// unless there are two spatial axes.
  static std::shared_ptr<const Int8Deconvolution> Make(const ConvolutionShape& shape);

  /// The convolutions that it consists of.
  size_t phases() const { return phases_.size(); }
  /// Elements of the packed weights.
  size_t packed_size() const;
  /// packed = the weights (channels, outputs / group, kernel...) in the order that Forward reads.
  void PackWeights(const int8_t* weights, int8_t* packed) const;
  /// folded (phases, outputs) = the bias of each output minus what the input's zero point adds to
  /// the sums of each phase. Throws Error where that does not fit 32 bits.
  void FoldZeroPoint(const int8_t* weights, int32_t zero_point, const int32_t* bias,
                     int32_t* folded) const;
  /// Bytes that Forward needs as scratch, aligned to 64.
  size_t scratch_bytes(int num) const;

  /// What Int8Convolution::Prepare makes for each phase of `by`, which has the bias of
  /// FoldZeroPoint, (phases, outputs).
  using Rows = std::vector<std::shared_ptr<const RescalingRows>>;
  Rows Prepare(const Rescaling& by, ElementType type) const;
  /// The bits of IntegerDeconvolution (integer_reference.hpp). X, Y: int8_t or uint8_t. `prepared`:
  /// what Prepare made of `by`; empty: they are prepared now, with Prepare's errors.
  template <typename X, typename Y>
  void Forward(int num, const X* x, const int8_t* packed, const Rescaling& by, void* scratch, Y* y,
               const Rows& prepared = {}) const;

 private:
  struct Phase {
    int first[2];            ///< row and column of its first output
    ConvolutionShape shape;  ///< with stride 1
    /// Positions of the layer's kernel in the order of the convolution's.
    std::vector<size_t> taps;
    std::shared_ptr<const Int8Convolution> convolution;
  };
  /// Weights (outputs, channels / group, taps) of a phase, from those of the whole kernel.
  std::vector<int8_t> WeightsOf(const Phase& phase, const int8_t* transposed) const;
  std::vector<int8_t> Transposed(const int8_t* weights) const;
  /// Bytes of a phase's outputs.
  size_t OutputBytes(const Phase& phase, int num) const;

  ConvolutionShape shape_;
  std::vector<Phase> phases_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INT8_DECONVOLUTION_HPP_
