#ifndef CAFFE_THRESHOLD_LAYER_HPP_
#define CAFFE_THRESHOLD_LAYER_HPP_

#include <vector>

#include "caffe/layers/activation_layer.hpp"

namespace caffe {

/// y = 1 for x > threshold, 0 otherwise. Has no gradient: Backward throws Error if one is asked
/// for. May be in place.
template <typename Dtype>
class ThresholdLayer : public ActivationLayer<Dtype> {
 public:
  explicit ThresholdLayer(const LayerParameter& param)
      : ActivationLayer<Dtype>(param, "Threshold") {}
  const char* type() const override { return "Threshold"; }

 protected:
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace caffe

#endif  // CAFFE_THRESHOLD_LAYER_HPP_
