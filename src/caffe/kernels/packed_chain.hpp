#ifndef CAFFE_KERNELS_PACKED_CHAIN_HPP_
#define CAFFE_KERNELS_PACKED_CHAIN_HPP_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "caffe/kernels/packed_convolution.hpp"

namespace caffe::kernels {

/// Convolutions of floating-point numbers, each of the output of the one before it, of some rows at
/// a time, as Int8Chain computes those of bytes: with channels last, and of BFLOAT16 in blocks of
/// channels. The same bits as the PackedConvolutions give one behind another, unless numbers are
/// infinite, NaN or, with channels last, no sums of three bfloat16.
class PackedChain {
 public:
  struct Link {
    ConvolutionShape shape;
    ElementType math;    ///< FLOAT, FLOAT16 or BFLOAT16, as is the next
    ElementType output;  ///< the last one's is y's
    /// The kernel is PackedConvolution::MakeChannelsLast, of all links or none. Else it is
    /// MakeInPairs, or Make where each channel is a group, in BFLOAT16.
    std::optional<TileShape> channels_last = {};
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
  /// the residual may have gaps between them. Throws Error unless there are as many layers.
  virtual void Forward(int num, Numbers x, const std::vector<Layer>& layers, void* scratch,
                       const Destination& y) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PACKED_CHAIN_HPP_
