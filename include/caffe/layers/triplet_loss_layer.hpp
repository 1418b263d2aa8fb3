#ifndef CAFFE_TRIPLET_LOSS_LAYER_HPP_
#define CAFFE_TRIPLET_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// Asks that an anchor be nearer to a feature of its own class than to one of another class, by a
/// margin (Schroff, Kalenichenko and Philbin, "FaceNet", 2015):
///
///     sum over n of max(0, |a_n - p_n|^2 - |a_n - q_n|^2 + margin) / (2 N)
///
/// Bottoms: anchors a, positives p, negatives q, all of one shape (N, ...). Top: the loss. Where a
/// feature is NaN, the loss and all three gradients of its triplet are NaN.
template <typename Dtype>
class TripletLossLayer : public LossLayer<Dtype> {
 public:
  explicit TripletLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "TripletLoss"; }
  int ExactNumBottomBlobs() const override { return 3; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return true; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  /// What triplet n adds to the sum, from 0 on; NaN where its distances are.
  double LossOf(const vector<Blob<Dtype>*>& bottom, int n) const;
};

}  // namespace caffe

#endif  // CAFFE_TRIPLET_LOSS_LAYER_HPP_
