#ifndef CAFFE_KERNELS_PACKED_CHAIN_HPP_
#define CAFFE_KERNELS_PACKED_CHAIN_HPP_

#include <cstddef>
#include <memory>
#include <vector>

#include "caffe/kernels/packed_convolution.hpp"

namespace caffe::kernels {

/// Convolutions of floating-point numbers with channels last, each of the output of the one before
/// it, of some rows at a time, as Int8Chain computes those of bytes. The same bits as the
/// PackedConvolutions give one behind another, unless numbers are infinite, NaN or no sums of three
/// bfloat16.
class PackedChain {
 public:
  struct Link {
    ConvolutionShape shape;
    ElementType math;  ///< of PackedConvolution::MakeChannelsLast, as is the next
    TileShape tile_shape;
    ElementType output;  ///< FLOAT, FLOAT16 or BFLOAT16; the last one's is y's
  };
  /// Null unless there are several links, each with a kernel for an input that is not plain and two
  /// spatial axes, whose shapes follow on one another.
  static std::shared_ptr<const PackedChain> Make(const std::vector<Link>& links);
  virtual ~PackedChain() = default;

  /// A link by itself: for packed weights, which are the same.
  virtual const PackedConvolution& kernel(size_t link) const = 0;
  /// Bytes that Forward needs as scratch, aligned to 64, for up to `num` images and the number of
  /// threads that share loops now.
  virtual size_t scratch_bytes(int num) const = 0;

  struct Layer {
    Numbers weights;  ///< packed
    PostOps post;     ///< a residual only behind the last one
  };
  /// y = the last layer of ... the first one of x, with a layer for each link. Images of x, y and
  /// the residual may have gaps between their pixels. Throws Error unless there are as many layers.
  virtual void Forward(int num, Numbers x, const std::vector<Layer>& layers, void* scratch,
                       const Destination& y) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PACKED_CHAIN_HPP_
