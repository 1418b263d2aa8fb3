#ifndef CAFFE_GELU_LAYER_HPP_
#define CAFFE_GELU_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = x times the normal distribution's probability of less than x: Hendrycks and Gimpel 2016. May
/// be in place.
template <typename Dtype>
class GELULayer : public ActivationLayer<Dtype> {
 public:
  explicit GELULayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "GELU") {}
  const char* type() const override { return "GELU"; }
};

}  // namespace caffe

#endif  // CAFFE_GELU_LAYER_HPP_
