#ifndef CAFFE_CONTRASTIVE_LOSS_LAYER_HPP_
#define CAFFE_CONTRASTIVE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// The loss of pairs for siamese nets (Hadsell, Chopra and LeCun, "Dimensionality Reduction by
/// Learning an Invariant Mapping"), d being the Euclidean distance of a pair:
///
///     loss = 1 / (2 num) * the sum over pairs of  d^2                 if they are similar,
///                                                 max(margin - d, 0)^2 otherwise,
///
/// or max(margin - d^2, 0) for the latter with contrastive_loss_param.legacy_version. Bottoms: two
/// of shape (num, values), and (num) with 0 for dissimilar pairs, whose diff is left alone. As in
/// Caffe the gradient of a dissimilar pair is divided by d + 1e-4, so that equal ones are no
/// trouble.
template <typename Dtype>
class ContrastiveLossLayer : public LossLayer<Dtype> {
 public:
  explicit ContrastiveLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ContrastiveLoss"; }
  int ExactNumBottomBlobs() const override { return 3; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  Blob<Dtype> diff_;     ///< bottom 0 - bottom 1
  Blob<Dtype> dist_sq_;  ///< (num), d^2
};

}  // namespace caffe

#endif  // CAFFE_CONTRASTIVE_LOSS_LAYER_HPP_
