#ifndef CAFFE_FLIP_LAYER_HPP_
#define CAFFE_FLIP_LAYER_HPP_

#include <vector>

#include "caffe/layers/reverse_layer.hpp"

namespace caffe {

/// Images (N, C, H, W) mirrored: left for right with flip_width, which is the default, and upside
/// down with flip_height.
template <typename Dtype>
class FlipLayer : public ReverseLayer<Dtype> {
 public:
  explicit FlipLayer(const LayerParameter& param) : ReverseLayer<Dtype>(param, "Flip") {}
  const char* type() const override { return "Flip"; }

 protected:
  vector<int> Axes(const Shape& bottom) const override;
};

}  // namespace caffe

#endif  // CAFFE_FLIP_LAYER_HPP_
