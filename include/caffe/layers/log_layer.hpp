#ifndef CAFFE_LOG_LAYER_HPP_
#define CAFFE_LOG_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = log(shift + scale * x) to the base `base`; base -1, the default, is e. May be in place.
template <typename Dtype>
class LogLayer : public ActivationLayer<Dtype> {
 public:
  explicit LogLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "Log") {}
  const char* type() const override { return "Log"; }
};

}  // namespace caffe

#endif  // CAFFE_LOG_LAYER_HPP_
