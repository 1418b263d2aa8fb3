#ifndef CAFFE_TANH_LAYER_HPP_
#define CAFFE_TANH_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = tanh(x). May be in place.
template <typename Dtype>
class TanHLayer : public ActivationLayer<Dtype> {
 public:
  explicit TanHLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "TanH") {}
  const char* type() const override { return "TanH"; }
};

}  // namespace caffe

#endif  // CAFFE_TANH_LAYER_HPP_
