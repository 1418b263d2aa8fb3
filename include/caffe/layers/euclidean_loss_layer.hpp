#ifndef CAFFE_EUCLIDEAN_LOSS_LAYER_HPP_
#define CAFFE_EUCLIDEAN_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/difference_loss_layer.hpp"

namespace caffe {

/// loss = 1 / (2 num) * the sum of (a - b)^2, for regression.
template <typename Dtype>
class EuclideanLossLayer : public DifferenceLossLayer<Dtype> {
 public:
  explicit EuclideanLossLayer(const LayerParameter& param) : DifferenceLossLayer<Dtype>(param) {}
  const char* type() const override { return "EuclideanLoss"; }

 protected:
  double Penalty(size_t n, const Dtype* d, const Dtype* weights) const override;
  void Slope(size_t n, const Dtype* d, Dtype* slope) const override;
#ifndef CPU_ONLY
  cuda::Penalty gpu_penalty() const override;
#endif
};

}  // namespace caffe

#endif  // CAFFE_EUCLIDEAN_LOSS_LAYER_HPP_
