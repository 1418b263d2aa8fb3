#ifndef CAFFE_CTC_LOSS_LAYER_HPP_
#define CAFFE_CTC_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

namespace cuda {
struct CtcTargets;
}

/// Connectionist temporal classification (Graves et al. 2006): the mean over sequences of
/// -log p(labels), for labels that are not aligned with the steps (kernels/ctc.hpp).
///
/// Bottoms: logits (T, N, C); if there are three, continuation indicators (T, N), a sequence ending
/// before its next 0; the labels, (N, L...), or (L, N) with indicators. A label that is the blank
/// (ctc_loss_param.blank_label) or negative fills up a row that has fewer than L labels.
/// alphabet_size, if given, must be C; time_step is how many steps count, all of them if 0. A
/// sequence whose labels need more steps than it has costs nothing and has no gradient.
template <typename Dtype>
class CTCLossLayer : public LossLayer<Dtype> {
 public:
  explicit CTCLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "CTCLoss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 3; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
  /// By what the gradient of the summed loss is divided.
  virtual Dtype GradientNormalizer(int sequences) const { return sequences; }

 private:
  struct Target {
    int steps;
    vector<int> labels;
  };
  Target TargetOf(const vector<Blob<Dtype>*>& bottom, int sequence) const;
  /// The summed loss; gradients times `scale` go to `gradient` if it is not null.
  double Compute(const vector<Blob<Dtype>*>& bottom, Dtype scale, Dtype* gradient) const;
#ifndef CPU_ONLY
  cuda::CtcTargets GpuTargets(const vector<Blob<Dtype>*>& bottom);

  Blob<int> gpu_lengths_;  // (2, N): steps, then labels of each sequence
  Blob<int> gpu_labels_;   // (N, the most labels)
#endif
};

/// As CTCLoss, but with the gradient of the sum over sequences and their mean as loss: the CRNN
/// forks with Baidu's warp-ctc, whose learning rates are made for that.
template <typename Dtype>
class CtcLossLayer : public CTCLossLayer<Dtype> {
 public:
  explicit CtcLossLayer(const LayerParameter& param) : CTCLossLayer<Dtype>(param) {}
  const char* type() const override { return "CtcLoss"; }

 protected:
  Dtype GradientNormalizer(int) const override { return 1; }
};

/// Another name of CtcLoss.
template <typename Dtype>
class WarpCTCLossLayer : public CtcLossLayer<Dtype> {
 public:
  explicit WarpCTCLossLayer(const LayerParameter& param) : CtcLossLayer<Dtype>(param) {}
  const char* type() const override { return "WarpCTCLoss"; }
};

}  // namespace caffe

#endif  // CAFFE_CTC_LOSS_LAYER_HPP_
