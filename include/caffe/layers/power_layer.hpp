#ifndef CAFFE_POWER_LAYER_HPP_
#define CAFFE_POWER_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = (shift + scale * x)^power; without a field its neutral value. With power 0 or scale 0 the
/// result is constant whatever x is. May be in place.
template <typename Dtype>
class PowerLayer : public ActivationLayer<Dtype> {
 public:
  explicit PowerLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "Power") {}
  const char* type() const override { return "Power"; }
};

}  // namespace caffe

#endif  // CAFFE_POWER_LAYER_HPP_
