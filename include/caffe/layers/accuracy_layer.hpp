#ifndef CAFFE_ACCURACY_LAYER_HPP_
#define CAFFE_ACCURACY_LAYER_HPP_

#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// The share of predictions whose label is among the top_k highest scores (the lowest with
/// min_is_better).
///
/// Bottoms: scores (N, C, inner...), labels (N, inner...). Tops: the share; with a second one, the
/// share for each class (C). A label equal to ignore_label does not count. A label that ties with
/// others counts as ranked behind those that are not smaller. No gradient.
template <typename Dtype>
class AccuracyLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit AccuracyLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Accuracy"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#endif

  int label_axis_ = 1, outer_num_ = 0, inner_num_ = 0;
  int top_k_ = 1;
  bool has_ignore_label_ = false;
  int ignore_label_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_ACCURACY_LAYER_HPP_
