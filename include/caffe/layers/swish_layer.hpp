#ifndef CAFFE_SWISH_LAYER_HPP_
#define CAFFE_SWISH_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = x / (1 + exp(-beta * x)): Ramachandran, Zoph and Le 2017; beta is fixed. May be in place.
template <typename Dtype>
class SwishLayer : public ActivationLayer<Dtype> {
 public:
  explicit SwishLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "Swish") {}
  const char* type() const override { return "Swish"; }
};

}  // namespace caffe

#endif  // CAFFE_SWISH_LAYER_HPP_
