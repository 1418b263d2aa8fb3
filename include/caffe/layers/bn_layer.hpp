#ifndef CAFFE_BN_LAYER_HPP_
#define CAFFE_BN_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"
#include "caffe/layers/channel_normalization.hpp"

namespace caffe {

/// Batch normalisation with scale and shift in one layer, in the two forms that forks of Caffe have
/// under this name; bn_param selects one. Per channel (axis 1); may be in place.
///
/// PSPNet's (also ICNet's, person re-identification's): parameters slope, bias, mean and variance,
/// each (1, C, 1, 1). y = slope * (x - mean) / sqrt(variance + eps) + bias with the batch's
/// statistics in the TRAIN phase, where the stored ones become momentum times themselves plus (1 -
/// momentum) times the batch's; with the stored ones in the TEST phase, or always if `frozen` (then
/// nothing is learned).
///
/// SegNet's (also ENet's), if bn_param has bn_mode, scale_filler or shift_filler: parameters scale
/// and shift, each (1, C, 1, 1). bn_mode LEARN: y = scale * (x - mean) / sqrt(variance + 1e-9) +
/// shift with the batch's statistics in both phases; a second and third top get its mean and
/// variance. INFERENCE: y = scale * x + shift.
template <typename Dtype>
class BNLayer : public Layer<Dtype> {
 public:
  explicit BNLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BN"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 3; }

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
  /// What mean and variance are in this pass.
  enum class Statistics { BATCH, STORED, NONE };
  Statistics statistics() const;
  /// The gradients that Backward computes; the bottom's unless it is not asked for.
  typename ChannelNormalization<Dtype>::Gradients WantedGradients(const Blob<Dtype>& top,
                                                                  bool propagate_down,
                                                                  Blob<Dtype>* bottom) const;
  void UpdateStored(const vector<double>& mean, const vector<double>& variance);
#ifndef CPU_ONLY
  template <typename T>
  void FindStatisticsGpu(const Blob<Dtype>& bottom);
#endif

  bool segnet_ = false;  // the form
  double eps_ = 0;
  ChannelNormalization<Dtype> normalization_;
};

}  // namespace caffe

#endif  // CAFFE_BN_LAYER_HPP_
