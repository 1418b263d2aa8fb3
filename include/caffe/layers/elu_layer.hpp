#ifndef CAFFE_ELU_LAYER_HPP_
#define CAFFE_ELU_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = lambda * x for x > 0, lambda * alpha * (exp(x) - 1) otherwise: exponential linear units,
/// Clevert, Unterthiner and Hochreiter 2015 (lambda 1); with NVCaffe's lambda 1.0507 and
/// alpha 1.6733 SELU, Klambauer, Unterthiner, Mayr and Hochreiter 2017. May be in place.
template <typename Dtype>
class ELULayer : public ActivationLayer<Dtype> {
 public:
  explicit ELULayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "ELU") {}
  const char* type() const override { return "ELU"; }
};

}  // namespace caffe

#endif  // CAFFE_ELU_LAYER_HPP_
