#ifndef CAFFE_KERNELS_SEPARABLE_BLOCK_HPP_
#define CAFFE_KERNELS_SEPARABLE_BLOCK_HPP_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe::kernels {

/// A depthwise separable convolution in one: a depthwise convolution and a 1x1 convolution of its
/// output (Howard et al., arXiv:1704.04861), and where there is one the 1x1 convolution in front of
/// them that expands the channels (the inverted residual of Sandler et al., arXiv:1801.04381).
/// Values between them, the largest of such nets, are made a few rows of a few channels at a time,
/// read while they are in the first cache of the core that made them, and never written to memory.
///
/// Input and output are (num, channels / block(), rows, columns, block()), as PackedConvolution has
/// them, and may hold float, float16 or bfloat16, as the weights may. Values between are floats.
/// The error is that of the PackedConvolutions, one behind another, without the rounding of values
/// between.
class SeparableBlock {
 public:
  struct Shapes {
    std::optional<ConvolutionShape> expand;
    ConvolutionShape depthwise, project;
  };
  /// What the cores share.
  enum class Split {
    ROWS,     ///< rows of the output; what lies under the kernels of two cores is expanded twice
    CHANNELS  ///< channels of the depthwise convolution; sums of outputs are added at the end
  };

  /// Null unless these are convolutions of images, each of the one's before output: `expand` and
  /// `project` 1x1, with stride 1, without padding and groups; `depthwise` with 3 or 5 columns, up
  /// to 5 rows, a stride of at most 2 along columns, and not dilated.
  static std::shared_ptr<const SeparableBlock> Make(const Shapes& shapes, Split split);
  virtual ~SeparableBlock() = default;

  virtual int block() const = 0;  ///< channels of a block: 8 or 16
  /// Floats that Forward needs as scratch, for up to `num` images and the number of threads that
  /// share loops now.
  virtual size_t scratch_size(int num) const = 0;

  /// The packed weights of a layer of the block: how many elements, zeros that pad blocks included,
  /// and f(index among the packed weights, index among the weights) for each weight.
  struct Packing {
    size_t size;
    std::function<void(const std::function<void(size_t, size_t)>& f)> for_each;
  };
  virtual Packing expand_packing() const = 0;
  virtual Packing depthwise_packing() const = 0;
  virtual Packing project_packing() const = 0;

  /// Packed weights, and what follows on sums; a residual only behind the last layer.
  struct Layer {
    Numbers weights;
    PostOps post;
  };
  struct Layers {
    Layer expand, depthwise, project;  ///< `expand` is not read where there is none
  };
  /// y = post(project(post(depthwise(post(expand(x)))))). Images may have gaps between them.
  virtual void Forward(int num, Numbers x, const Layers& layers, float* scratch,
                       const Destination& y) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_SEPARABLE_BLOCK_HPP_
