#ifndef CAFFE_INFOGAIN_LOSS_LAYER_HPP_
#define CAFFE_INFOGAIN_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/labelled_loss_layer.hpp"

namespace caffe {

/// The multinomial logistic loss with a matrix H that says what each prediction is worth for each
/// label (cost-sensitive or imbalanced classes):
///
///     loss = -1 / normalizer * the sum over positions of sum over k of H[label, k] log p[k],
///
/// p being the softmax of the logits along `axis`. With H the identity it is SoftmaxWithLoss.
///
/// Bottoms: logits (N..., C, inner...), labels (one a position), and H (C x C) unless
/// infogain_loss_param.source names a file with it, a BlobProto. Tops: the loss; with a second one,
/// the probabilities. loss_param as for SoftmaxWithLoss. Logarithms are taken of the logits.
template <typename Dtype>
class InfogainLossLayer : public LabelledLossLayer<Dtype> {
 public:
  explicit InfogainLossLayer(const LayerParameter& param) : LabelledLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "InfogainLoss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
  /// sum_rows_H_[label] = sum over k of H[label, k].
  virtual void sum_rows_of_H(const Blob<Dtype>* H);

  Blob<Dtype> prob_;
  Blob<Dtype> infogain_;    ///< H from the file
  Blob<Dtype> sum_rows_H_;  ///< (C)
  int infogain_axis_ = 1, num_labels_ = 0;

 private:
  const Blob<Dtype>& MatrixOf(const vector<Blob<Dtype>*>& bottom) const {
    return bottom.size() > 2 ? *bottom[2] : infogain_;
  }
};

}  // namespace caffe

#endif  // CAFFE_INFOGAIN_LOSS_LAYER_HPP_
