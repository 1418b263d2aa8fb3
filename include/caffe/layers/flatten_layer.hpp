#ifndef CAFFE_FLATTEN_LAYER_HPP_
#define CAFFE_FLATTEN_LAYER_HPP_

#include "caffe/layers/view_layer.hpp"

namespace caffe {

/// The axes from `axis` to `end_axis` become one; the top shares the bottom's data and gradient.
template <typename Dtype>
class FlattenLayer : public ViewLayer<Dtype> {
 public:
  explicit FlattenLayer(const LayerParameter& param) : ViewLayer<Dtype>(param, "Flatten") {}
  const char* type() const override { return "Flatten"; }
};

}  // namespace caffe

#endif  // CAFFE_FLATTEN_LAYER_HPP_
