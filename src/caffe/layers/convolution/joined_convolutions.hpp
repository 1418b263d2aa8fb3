#ifndef CAFFE_LAYERS_JOINED_CONVOLUTIONS_HPP_
#define CAFFE_LAYERS_JOINED_CONVOLUTIONS_HPP_

#include <memory>
#include <vector>

#include "caffe/kernels/separable_block.hpp"
#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {

/// Three layers one behind another that are an inverted residual, as one kernel
/// (kernels/separable_block.hpp), with what is fused into each of them: for nets in the TEST phase.
template <typename Dtype>
class JoinedConvolutions {
 public:
  using Convolution = BaseConvolutionLayer<Dtype>;

  /// False, and nothing is joined, unless they are one of FLOAT, without an engine of their own.
  /// They must outlive this.
  bool Join(const vector<Convolution*>& layers);
  /// The last one's top, once all have been reshaped. False where there is no kernel for the
  /// shapes.
  bool Forward(const Blob<Dtype>& bottom, Blob<Dtype>* top);

 private:
  struct Packed {
    uint64_t stamp = 0;
    vector<float> weights, bias;
  };
  kernels::SeparableBlock::Layer LayerOf(size_t index,
                                         const kernels::SeparableBlock::Packing& packing);
  const kernels::ConvolutionShape& ShapeOf(size_t index) const;

  vector<Convolution*> layers_;
  std::shared_ptr<const kernels::SeparableBlock> kernel_;
  vector<int> input_;  // the extents that it is for
  Packed packed_[3];
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_JOINED_CONVOLUTIONS_HPP_
