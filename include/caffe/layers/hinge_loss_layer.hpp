#ifndef CAFFE_HINGE_LOSS_LAYER_HPP_
#define CAFFE_HINGE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// The one-against-all hinge loss of a linear classifier (a support vector machine):
///
///     loss = 1 / num * the sum over items and classes of max(0, 1 - s x)^p,
///
/// s being 1 for the item's label and -1 for other classes; p = 1 with hinge_loss_param.norm L1, 2
/// with L2. Bottoms: scores (num, classes...), labels (num).
template <typename Dtype>
class HingeLossLayer : public LossLayer<Dtype> {
 public:
  explicit HingeLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "HingeLoss"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

 private:
  /// Calls f(index, sign, margin) for every score whose margin, 1 - sign x, is positive.
  template <typename Function>
  void ForEachViolation(const vector<Blob<Dtype>*>& bottom, Function&& f) const;
  bool squared() const {
    return this->layer_param_.hinge_loss_param().norm() == HingeLossParameter_Norm_L2;
  }
};

}  // namespace caffe

#endif  // CAFFE_HINGE_LOSS_LAYER_HPP_
