#ifndef CAFFE_EXP_LAYER_HPP_
#define CAFFE_EXP_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = base^(shift + scale * x); base -1, the default, is e. May be in place.
template <typename Dtype>
class ExpLayer : public ActivationLayer<Dtype> {
 public:
  explicit ExpLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "Exp") {}
  const char* type() const override { return "Exp"; }
};

}  // namespace caffe

#endif  // CAFFE_EXP_LAYER_HPP_
