#ifndef CAFFE_KERNELS_INT8_CHAIN_HPP_
#define CAFFE_KERNELS_INT8_CHAIN_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "caffe/kernels/int8_convolution.hpp"

namespace caffe::kernels {

/// Convolutions of 8-bit integers over images, each of the output of the one before it, of some
/// rows at a time (fused layers: Alwani et al., MICRO 2016). A core computes all layers of its
/// rows: values between them stay in its cache, and the rows that lie under the kernels of two
/// cores are computed by both. The same bits as the Int8Convolutions give one behind another, whose
/// sums are rescaled in float or in integers alone.
class Int8Chain {
 public:
  struct Link {
    ConvolutionShape shape;
    bool small_pairs = false;  ///< the kernel is Int8Convolution::MakeForSmallPairs
    /// The kernel is Int8Convolution::MakeChannelsLast, of all links or none.
    std::optional<TileShape> channels_last = {};
  };
  /// Null unless there are several links, each with a kernel for an input that is not plain and two
  /// spatial axes, whose shapes follow on one another.
  static std::shared_ptr<const Int8Chain> Make(const std::vector<Link>& links);
  virtual ~Int8Chain() = default;

  /// A link by itself: for packed weights, which are the same.
  virtual const Int8Convolution& kernel(size_t link) const = 0;
  /// Bytes that Forward needs as scratch, aligned to 64, for up to `num` images and the number of
  /// threads that share loops now.
  virtual size_t scratch_bytes(int num) const = 0;

  struct Layer {
    const int8_t* packed = nullptr;
    PostOps post;                          ///< a residual only behind the last one
    int input_zero_point = 0;              ///< the byte that pads its input
    ElementType type = ElementType::INT8;  ///< of its output: INT8 or UINT8; the last one's is y's
  };
  /// The same in integers alone.
  struct IntegerLayer {
    const int8_t* packed = nullptr;
    const Rescaling* by = nullptr;
    const RescalingRows* rows = nullptr;   ///< Int8Convolution::Prepare of kernel()
    const Residual* residual = nullptr;    ///< only behind the last one; null: there is none
    ElementType type = ElementType::INT8;  ///< as above
  };
  /// y = the last layer of ... the first one of x, with a layer for each link. Images of x, y and
  /// the residual may have gaps between them. Throws Error unless there are as many layers, and
  /// types are those that Int8Convolution takes.
  virtual void Forward(int num, Numbers x, const std::vector<Layer>& layers, void* scratch,
                       const Destination& y) const = 0;
  virtual void Forward(int num, Numbers x, const std::vector<IntegerLayer>& layers, void* scratch,
                       const Destination& y) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INT8_CHAIN_HPP_
