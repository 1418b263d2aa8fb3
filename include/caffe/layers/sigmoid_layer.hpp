#ifndef CAFFE_SIGMOID_LAYER_HPP_
#define CAFFE_SIGMOID_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = 1 / (1 + exp(-x)). May be in place.
template <typename Dtype>
class SigmoidLayer : public ActivationLayer<Dtype> {
 public:
  explicit SigmoidLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "Sigmoid") {}
  const char* type() const override { return "Sigmoid"; }
};

}  // namespace caffe

#endif  // CAFFE_SIGMOID_LAYER_HPP_
