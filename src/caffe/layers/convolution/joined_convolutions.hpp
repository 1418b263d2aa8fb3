#ifndef CAFFE_LAYERS_JOINED_CONVOLUTIONS_HPP_
#define CAFFE_LAYERS_JOINED_CONVOLUTIONS_HPP_

#include <memory>
#include <vector>

#include "caffe/kernels/separable_block.hpp"
#include "caffe/layers/conv_layer.hpp"

namespace caffe {

/// Three layers one behind another that are an inverted residual, as one kernel
/// (kernels/separable_block.hpp), with what is fused into each of them: for nets in the TEST phase.
///
/// Each layer has one, whose first layer it is; most join nothing.
template <typename Dtype>
class JoinedConvolutions {
 public:
  using Convolution = ConvolutionLayer<Dtype>;

  /// Joins them if they are such layers: in FLOAT, by the engine that is DEFAULT on a CPU (as CAFFE
  /// and CUDNN are: engine.hpp), and expanding enough to gain by it. Else false, and nothing is
  /// joined. A null pointer is no such layer. They must outlive this.
  bool Join(const vector<Convolution*>& layers);
  /// The last one's top, once all have been reshaped. False, and nothing is written, where nothing
  /// is joined, there is no kernel for the shapes, or the layers are faster one by one.
  bool Forward(const Blob<Dtype>& bottom, Blob<Dtype>* top);
  /// Says that the first layer has run by itself. Frees the packed weights, unless that is because
  /// Forward has just returned false: other shapes may follow.
  void RanApart();

 private:
  /// What the choice of the kernel depends on.
  struct Situation {
    vector<int> input;  // extents
    int num = 0, threads = 0;
    bool operator==(const Situation& other) const {
      return input == other.input && num == other.num && threads == other.threads;
    }
  };
  struct Packed {
    uint64_t stamp = 0;
    std::shared_ptr<SyncedMemory> weights;  // null: to be packed
    vector<float> bias;
  };
  bool FindKernel();
  void Pack(const WeightBlobs<Dtype>& blobs, const Pointwise& behind,
            const kernels::SeparableBlock::Packing& packing, Packed* packed) const;
  kernels::SeparableBlock::Layer LayerOf(size_t index,
                                         const kernels::SeparableBlock::Packing& packing);
  const kernels::ConvolutionShape& ShapeOf(size_t index) const;

  vector<Convolution*> layers_;
  std::shared_ptr<const kernels::SeparableBlock> kernel_;  // null: layers run one by one
  Situation chosen_for_;
  Packed packed_[3];
  bool has_declined_ = false;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_JOINED_CONVOLUTIONS_HPP_
