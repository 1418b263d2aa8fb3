#ifndef CAFFE_KERNELS_INNER_PRODUCT_HPP_
#define CAFFE_KERNELS_INNER_PRODUCT_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/packed_convolution.hpp"

namespace caffe::kernels {

struct AmxTiles;
struct PackedTiles;
struct Int8Tiles;

/// How the outputs of an inner product are cut into panels, whose sums stay in registers.
class InnerProductPanels {
 public:
  /// Throws Error unless both are positive.
  InnerProductPanels(int inputs, int outputs, int block, int vectors);

  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  /// Inputs and outputs, including the padding of blocks.
  size_t depth() const { return depth_; }
  size_t padded_outputs() const { return padded_outputs_; }
  size_t size() const { return padded_outputs_ * depth_; }
  size_t panels() const;
  /// Blocks of outputs of a panel; its first output.
  int vectors(size_t panel) const;
  size_t start(size_t panel) const { return panel * vectors_ * block_; }

 private:
  int inputs_, outputs_, block_, vectors_;
  size_t depth_, padded_outputs_;
};

/// y (num, outputs) = post(x (num, inputs) weights^T), for batches of one to a few dozen, where
/// reading the weights dominates: for few rows of x, 16-bit weights are widened in registers while
/// they are multiplied.
///
/// Sums are float; the error bound is that of PackedConvolution with n = inputs, with AMX that of
/// its convolutions with AMX.
class InnerProduct {
 public:
  /// Throws Error unless both are positive. For the instruction set currently in use. `math` is
  /// FLOAT16 where products of float16 may be rounded, by less than float16 itself rounds.
  InnerProduct(int inputs, int outputs, ElementType math = ElementType::FLOAT);

  /// Elements of the packed weights: those of the matrix, and zeros that pad blocks.
  size_t packed_size() const { return panels_.size(); }
  /// Bytes that Forward needs as scratch, aligned to 64.
  size_t scratch_bytes(int num) const;

  /// packed = the weights (outputs, inputs) in the order that Forward reads, times scale[output] if
  /// that is given; and back. V and W: float, float16 or bfloat16.
  template <typename V, typename W>
  void PackWeights(const V* weights, const float* scale, W* packed) const;
  template <typename W>
  void UnpackWeights(const W* packed, W* weights) const;

  /// y = post(x weights^T). x, packed and y: float, float16 or bfloat16 each; the residual is of
  /// y's type. Work is spread over outputs.
  void Forward(int num, Numbers x, Numbers packed, const PostOps& post, void* scratch,
               Destination y) const;

 private:
  const PackedTiles& tiles_;
  const AmxTiles* amx_;  // or null
  ElementType math_;
  InnerProductPanels panels_;
};

/// The same for 8-bit integers, with exact sums and PostOps or Rescaling: the same bits on every
/// instruction set and with any number of threads.
class Int8InnerProduct {
 public:
  /// Throws Error unless both are positive and there are at most 66,000 inputs, whose products' sum
  /// fits 32 bits.
  Int8InnerProduct(int inputs, int outputs);

  /// Elements of the packed weights: those of the matrix, zeros that pad blocks, and with VNNI four
  /// bytes per output.
  size_t packed_size() const;
  size_t scratch_bytes(int num) const;
  void PackWeights(const int8_t* weights, int8_t* packed) const;

  /// y = post(sums). x: int8_t or uint8_t; y and the residual: float, int8_t or uint8_t each.
  void Forward(int num, Numbers x, const int8_t* packed, const PostOps& post, void* scratch,
               Destination y) const;
  /// As Int8Convolution's.
  std::shared_ptr<const RescalingRows> Prepare(const Rescaling& by, ElementType type) const;
  /// y = Rescaled(by, output, sum), bit for bit. x and y: int8_t or uint8_t each. `rows`: what
  /// Prepare made of it; null: they are prepared now, with Prepare's errors.
  void Forward(int num, Numbers x, const int8_t* packed, const Rescaling& by, void* scratch,
               Destination y, const RescalingRows* rows = nullptr) const;

 private:
  template <typename TilePostOps>  // Int8Tiles'
  void Run(int num, Numbers x, const int8_t* packed, const TilePostOps& writing,
           void* scratch) const;

  const Int8Tiles& tiles_;
  const AmxTiles* amx_;  // or null
  InnerProductPanels panels_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INNER_PRODUCT_HPP_
