#ifndef CAFFE_HARD_SWISH_LAYER_HPP_
#define CAFFE_HARD_SWISH_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = x min(max(x + 3, 0), 6) / 6: Howard et al. 2019 (MobileNetV3). May be in place.
template <typename Dtype>
class HardSwishLayer : public ActivationLayer<Dtype> {
 public:
  explicit HardSwishLayer(const LayerParameter& param)
      : ActivationLayer<Dtype>(param, "HardSwish") {}
  const char* type() const override { return "HardSwish"; }
};

}  // namespace caffe

#endif  // CAFFE_HARD_SWISH_LAYER_HPP_
