#ifndef CAFFE_RELU6_LAYER_HPP_
#define CAFFE_RELU6_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = threshold for x > threshold, negative_slope * x for x < 0, x otherwise: a ReLU that ends at
/// 6, the threshold's default. The gradient is 0 from the threshold on. May be in place.
template <typename Dtype>
class ReLU6Layer : public ActivationLayer<Dtype> {
 public:
  explicit ReLU6Layer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "ReLU6") {}
  const char* type() const override { return "ReLU6"; }
};

}  // namespace caffe

#endif  // CAFFE_RELU6_LAYER_HPP_
