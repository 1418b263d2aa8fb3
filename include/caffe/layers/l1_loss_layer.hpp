#ifndef CAFFE_L1_LOSS_LAYER_HPP_
#define CAFFE_L1_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/difference_loss_layer.hpp"

namespace caffe {

/// loss = 1 / num * the sum of |a - b| (NVCaffe; DetectNet's boxes). Where a = b the gradient is 0.
template <typename Dtype>
class L1LossLayer : public DifferenceLossLayer<Dtype> {
 public:
  explicit L1LossLayer(const LayerParameter& param) : DifferenceLossLayer<Dtype>(param) {}
  const char* type() const override { return "L1Loss"; }

 protected:
  double Penalty(size_t n, const Dtype* d, const Dtype* weights) const override;
  void Slope(size_t n, const Dtype* d, Dtype* slope) const override;
#ifndef CPU_ONLY
  cuda::Penalty gpu_penalty() const override;
#endif
};

}  // namespace caffe

#endif  // CAFFE_L1_LOSS_LAYER_HPP_
