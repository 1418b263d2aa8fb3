#ifndef CAFFE_RELU_LAYER_HPP_
#define CAFFE_RELU_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = max(x, 0) + negative_slope * min(x, 0). May be in place: y has the sign of x, unless the
/// slope is negative.
template <typename Dtype>
class ReLULayer : public ActivationLayer<Dtype> {
 public:
  explicit ReLULayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "ReLU") {}
  const char* type() const override { return "ReLU"; }
};

}  // namespace caffe

#endif  // CAFFE_RELU_LAYER_HPP_
