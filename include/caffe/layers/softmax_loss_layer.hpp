#ifndef CAFFE_SOFTMAX_WITH_LOSS_LAYER_HPP_
#define CAFFE_SOFTMAX_WITH_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/labelled_loss_layer.hpp"

// Programs take it from here, as from Caffe's header.
#include "caffe/layers/softmax_layer.hpp"

namespace caffe {

namespace cuda {
template <typename Label>
struct SoftmaxTargets;
}

/// The multinomial logistic loss of the softmax of the logits: -sum of log p[label] / normalizer.
///
/// Bottoms: logits (N, C, inner...), labels (N, inner...), whole numbers in [0, C) or
/// loss_param.ignore_label. Tops: the loss; with a second one, the probabilities. With
/// loss_param.label_smoothing e, the target is 1 - e for the label and, on top, e / C for each
/// class (Szegedy et al., "Rethinking the Inception Architecture", section 7; NVCaffe, whose field
/// it is, leaves the e / C out, on the GPU only, and its gradient then is that of no loss). With
/// SegNet's weight_by_label_freqs a prediction counts class_weighting[label] times. Logarithms are
/// taken of the logits, in float: log p = x - log sum exp x.
template <typename Dtype>
class SoftmaxWithLossLayer : public LabelledLossLayer<Dtype> {
 public:
  explicit SoftmaxWithLossLayer(const LayerParameter& param) : LabelledLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SoftmaxWithLoss"; }
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

  /// The probabilities, in Dtype: for Forward of a derived class, whose Backward may read them, and
  /// for Backward_cpu.
  Blob<Dtype> prob_;
  float label_smoothing_ = 0;
  int softmax_axis_ = 1;

 private:
  void ComputeProbabilities(const Blob<Dtype>& logits);
  float WeightOf(int label) const { return class_weights_.empty() ? 1.f : class_weights_[label]; }

  vector<float> class_weights_;  // one a class, or none
#ifndef CPU_ONLY
  cuda::SoftmaxTargets<Dtype> GpuTargets(const vector<Blob<Dtype>*>& bottom);

  Blob<float> gpu_class_weights_;
#endif
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_WITH_LOSS_LAYER_HPP_
