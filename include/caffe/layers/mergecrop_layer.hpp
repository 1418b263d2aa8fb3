#ifndef CAFFE_MERGECROP_LAYER_HPP_
#define CAFFE_MERGECROP_LAYER_HPP_

#include <vector>

#include "caffe/layers/strided_layer.hpp"

namespace caffe {

/// Bottom 0, and behind its channels those of bottom 1, cut to the spatial extents of bottom 0
/// around its middle: what joins the two arms of a U-Net. Bottoms (N, C, spatial axes), the second
/// one at least as large as the first. `forward` and `backward` are given once per bottom or not at
/// all: where forward is false the top has 0 instead, where backward is false the gradient is 0. By
/// default bottom 1 has no gradient.
template <typename Dtype>
class MergeCropLayer : public StridedLayer<Dtype> {
 public:
  explicit MergeCropLayer(const LayerParameter& param) : StridedLayer<Dtype>(param, "MergeCrop") {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MergeCrop"; }
  int ExactNumBottomBlobs() const override { return 2; }

 protected:
  vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const override;

 private:
  bool forward_[2] = {true, true};
  bool backward_[2] = {true, false};
};

}  // namespace caffe

#endif  // CAFFE_MERGECROP_LAYER_HPP_
