#ifndef CAFFE_SMOOTH_L1_LOSS_LAYER_HPP_
#define CAFFE_SMOOTH_L1_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/difference_loss_layer.hpp"

namespace caffe {

/// The loss of bounding boxes (Girshick, "Fast R-CNN", section 2.3): with d the difference,
///
///     penalty(d) = (sigma d)^2 / 2       for |d| < 1 / sigma^2
///                  |d| - 1 / (2 sigma^2) otherwise
///
/// Bottoms: predictions, targets; with a third one (SSD's form), weights that the difference is
/// multiplied by before; with a fourth one (Faster R-CNN's), weights that the penalty is multiplied
/// by. smooth_l1_loss_param.sigma is 1 unless given.
template <typename Dtype>
class SmoothL1LossLayer : public DifferenceLossLayer<Dtype> {
 public:
  explicit SmoothL1LossLayer(const LayerParameter& param) : DifferenceLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SmoothL1Loss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 4; }

 protected:
  double Penalty(size_t n, const Dtype* d, const Dtype* weights) const override;
  void Slope(size_t n, const Dtype* d, Dtype* slope) const override;
#ifndef CPU_ONLY
  cuda::Penalty gpu_penalty() const override;
#endif

  Dtype sigma2_ = 1;  ///< sigma^2
};

}  // namespace caffe

#endif  // CAFFE_SMOOTH_L1_LOSS_LAYER_HPP_
