#ifndef CAFFE_CENTER_LOSS_LAYER_HPP_
#define CAFFE_CENTER_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// Pulls features together by class (Wen, Zhang, Li and Qiao, "A Discriminative Feature Learning
/// Approach for Deep Face Recognition", 2016): loss = 1 / (2 M) * the sum of |x - c[label]|^2.
///
/// Bottoms: features (M..., K...) split at center_loss_param.axis, labels (M). Parameter: centers
/// (num_output, K), one a class. The centers do not follow the loss's gradient but the paper's
/// rule: what is added to the diff of c[j] is the sum of c[j] - x over the n features of class j,
/// divided by 1 + n, whatever the loss weight.
template <typename Dtype>
class CenterLossLayer : public LossLayer<Dtype> {
 public:
  explicit CenterLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "CenterLoss"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  int M_ = 0;             ///< features
  int K_ = 0;             ///< values of each
  int N_ = 0;             ///< classes
  Blob<Dtype> distance_;  ///< (M, K): x - c[label]
};

}  // namespace caffe

#endif  // CAFFE_CENTER_LOSS_LAYER_HPP_
