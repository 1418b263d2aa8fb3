#ifndef CAFFE_LOSS_LAYER_HPP_
#define CAFFE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The least value whose logarithm a loss takes.
const float kLOG_THRESHOLD = 1e-20;

/// A layer that compares predictions (bottom 0) with labels (bottom 1) and makes one number, with
/// loss weight 1 unless the layer says otherwise. Labels get no gradient.
template <typename Dtype>
class LossLayer : public Layer<Dtype> {
 public:
  explicit LossLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int ExactNumBottomBlobs() const override { return 2; }
  /// A net may leave the top out.
  bool AutoTopBlobs() const override { return true; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 1; }

 protected:
  /// What a loss that is a sum is divided by: all outer x inner predictions (FULL), those that are
  /// counted (VALID; -1: all), the outer ones (BATCH_SIZE), or 1 (NONE); at least 1.
  static Dtype Normalizer(LossParameter_NormalizationMode mode, int valid, int outer, int inner);
};

/// loss_param.normalization, or what the older `normalize` means.
LossParameter_NormalizationMode NormalizationOf(const LossParameter& param);

}  // namespace caffe

#endif  // CAFFE_LOSS_LAYER_HPP_
