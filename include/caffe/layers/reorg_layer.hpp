#ifndef CAFFE_REORG_LAYER_HPP_
#define CAFFE_REORG_LAYER_HPP_

#include <vector>

#include "caffe/layers/strided_layer.hpp"

namespace caffe {

/// YOLO v2's reorganisation of planes into channels: bottom (N, C, H, W), top (N, C s^2, H / s, W /
/// s) for stride s. As in Darknet, and so in every net trained with it, the input is read as if it
/// were (C / s^2, H s, W s): of those planes the s x s phases come one after another, (N, s, s, C /
/// s^2, H, W), and that is read as the top. So C, H and W have to be multiples of s^2, s and s.
///
/// With `reverse`, (N, C, H, W) becomes (N, C / s^2, H s, W s), the inverse of taking phases.
template <typename Dtype>
class ReorgLayer : public StridedLayer<Dtype> {
 public:
  explicit ReorgLayer(const LayerParameter& param) : StridedLayer<Dtype>(param, "Reorg") {}
  const char* type() const override { return "Reorg"; }

 protected:
  vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const override;
};

}  // namespace caffe

#endif  // CAFFE_REORG_LAYER_HPP_
