#ifndef CAFFE_ABSVAL_LAYER_HPP_
#define CAFFE_ABSVAL_LAYER_HPP_

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = |x|; the gradient at 0 is 0. May be in place.
template <typename Dtype>
class AbsValLayer : public ActivationLayer<Dtype> {
 public:
  explicit AbsValLayer(const LayerParameter& param) : ActivationLayer<Dtype>(param, "AbsVal") {}
  const char* type() const override { return "AbsVal"; }
};

}  // namespace caffe

#endif  // CAFFE_ABSVAL_LAYER_HPP_
