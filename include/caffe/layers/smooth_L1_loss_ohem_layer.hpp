#ifndef CAFFE_SMOOTH_L1_LOSS_OHEM_LAYER_HPP_
#define CAFFE_SMOOTH_L1_LOSS_OHEM_LAYER_HPP_

#include <vector>

#include "caffe/layers/smooth_L1_loss_layer.hpp"

namespace caffe {

/// SmoothL1Loss with sigma 1 for online hard example mining (R-FCN; Dai, Li, He and Sun 2016).
///
/// Bottoms: predictions and targets (N, C, H, W), with a third one weights of the differences.
/// Tops: the loss, divided as loss_param.normalization says (N H W unless given); with a second one
/// what each position lost, (N, 1, H, W), summed over channels, which has no gradient.
template <typename Dtype>
class SmoothL1LossOHEMLayer : public SmoothL1LossLayer<Dtype> {
 public:
  explicit SmoothL1LossOHEMLayer(const LayerParameter& param) : SmoothL1LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SmoothL1LossOHEM"; }
  int MaxBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#endif
  Dtype Normalizer(const Blob<Dtype>& predictions) const override;
};

}  // namespace caffe

#endif  // CAFFE_SMOOTH_L1_LOSS_OHEM_LAYER_HPP_
