#ifndef CAFFE_FOCAL_LOSS_LAYER_HPP_
#define CAFFE_FOCAL_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/labelled_loss_layer.hpp"

namespace caffe {

/// A loss to which predictions that are right already add little (Lin, Goyal, Girshick, He and
/// Dollar, "Focal Loss for Dense Object Detection", 2017), in the form for classes that forks of
/// Caffe have: with p = softmax(x) and t the label, a sum, divided by loss_param's normalizer, of
///
///     ORIGIN: -alpha (1 - p_t)^gamma log p_t
///     LINEAR: -alpha log p'_t / gamma,  p' = softmax(gamma x + beta)
///
/// beta changes nothing, since it is added to all classes; it is there because nets give it.
///
/// Bottoms: logits (N, C, inner...), the classes being on focal_loss_param.axis, or else on
/// softmax_param.axis; labels (N, inner...), whole numbers in [0, C) or loss_param.ignore_label.
/// Tops: the loss; with a second one, the probabilities p.
template <typename Dtype>
class FocalLossLayer : public LabelledLossLayer<Dtype> {
 public:
  explicit FocalLossLayer(const LayerParameter& param) : LabelledLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "FocalLoss"; }
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  /// Where the logits of prediction `index` are.
  size_t FirstOf(int index) const;
  double LossOf(double log_p) const;
  /// d loss / d log p_t.
  double SlopeOf(double log_p) const;

  bool linear_ = false;
  double alpha_ = 1, gamma_ = 0;
  int classes_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_FOCAL_LOSS_LAYER_HPP_
