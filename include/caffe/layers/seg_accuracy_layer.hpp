#ifndef CAFFE_SEG_ACCURACY_LAYER_HPP_
#define CAFFE_SEG_ACCURACY_LAYER_HPP_

#include <cstdint>
#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// How well a batch of images is segmented (DeepLab, PSPNet).
///
/// Bottoms: scores (N, C, H, W), the highest of a pixel's being its class, or, with one channel,
/// probabilities of class 1 of 2; labels (N, 1, H, W). Top: (1, 1, 1, 3), namely
///  - the share of pixels whose class is right,
///  - the mean over all classes that occur among the labels of the share found of each,
///  - the mean over all classes of intersection over union, which is 1 for a class that is neither
///    there nor found.
///
/// Pixels whose label is one of seg_accuracy_param.ignore_label do not count. With `reset: false`
/// pixels are counted from the first pass on, not from the present one. No gradient.
template <typename Dtype>
class SegAccuracyLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit SegAccuracyLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SegAccuracy"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 private:
  template <typename T>
  int ClassOf(const T* scores, size_t channel_step) const;
  bool IsIgnored(Dtype label) const;

  int channels_ = 0, classes_ = 0;
  vector<int64_t> counts_;  // pixels of class i found to be of class j, at [i * classes + j]
};

}  // namespace caffe

#endif  // CAFFE_SEG_ACCURACY_LAYER_HPP_
