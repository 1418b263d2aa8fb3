#ifndef CAFFE_SOFTMAX_WITH_LOSS_OHEM_LAYER_HPP_
#define CAFFE_SOFTMAX_WITH_LOSS_OHEM_LAYER_HPP_

#include <vector>

#include "caffe/layers/softmax_loss_layer.hpp"

namespace caffe {

/// SoftmaxWithLoss for online hard example mining (R-FCN): with a third top, what each prediction
/// lost, in the labels' shape, 0 where a label is ignored; it has no gradient.
template <typename Dtype>
class SoftmaxWithLossOHEMLayer : public SoftmaxWithLossLayer<Dtype> {
 public:
  explicit SoftmaxWithLossOHEMLayer(const LayerParameter& param)
      : SoftmaxWithLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SoftmaxWithLossOHEM"; }
  int MaxTopBlobs() const override { return 3; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#endif
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_WITH_LOSS_OHEM_LAYER_HPP_
