#ifndef CAFFE_RESHAPE_LAYER_HPP_
#define CAFFE_RESHAPE_LAYER_HPP_

#include "caffe/layers/view_layer.hpp"

namespace caffe {

/// The axes [axis, axis + num_axes) of the bottom (-1: all from axis on) replaced by those of
/// `shape`: 0 copies the bottom's extent at the same place, one -1 is worked out from the count.
/// axis may be the number of axes (or -1, which then counts from behind the last one): nothing is
/// replaced, axes are added. The top shares the bottom's data and gradient.
template <typename Dtype>
class ReshapeLayer : public ViewLayer<Dtype> {
 public:
  explicit ReshapeLayer(const LayerParameter& param) : ViewLayer<Dtype>(param, "Reshape") {}
  const char* type() const override { return "Reshape"; }
};

}  // namespace caffe

#endif  // CAFFE_RESHAPE_LAYER_HPP_
