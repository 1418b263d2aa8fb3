#ifndef CAFFE_CLIP_LAYER_HPP_
#define CAFFE_CLIP_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = min for x < min, max for x > max, x otherwise. The gradient passes where min <= x <= max.
/// Both limits have to be given. May be in place.
template <typename Dtype>
class ClipLayer : public ActivationLayer<Dtype> {
 public:
  explicit ClipLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "Clip") {}
  const char* type() const override { return "Clip"; }
};

}  // namespace caffe

#endif  // CAFFE_CLIP_LAYER_HPP_
