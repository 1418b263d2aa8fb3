#ifndef CAFFE_BNLL_LAYER_HPP_
#define CAFFE_BNLL_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = log(1 + exp(x)), the binomial normal log likelihood. May be in place.
template <typename Dtype>
class BNLLLayer : public ActivationLayer<Dtype> {
 public:
  explicit BNLLLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "BNLL") {}
  const char* type() const override { return "BNLL"; }
};

}  // namespace caffe

#endif  // CAFFE_BNLL_LAYER_HPP_
