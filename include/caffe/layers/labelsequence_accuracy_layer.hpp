#ifndef CAFFE_LABELSEQUENCE_ACCURACY_LAYER_HPP_
#define CAFFE_LABELSEQUENCE_ACCURACY_LAYER_HPP_

#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// The part of sequences that are read right, along the best path, for nets trained with CTC.
/// Bottoms: scores (N, T, C), labels (N, L), filled up with blanks
/// (labelsequence_accuracy_param.blank_label, which need not be a class). No gradients.
template <typename Dtype>
class LabelsequenceAccuracyLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit LabelsequenceAccuracyLayer(const LayerParameter& param)
      : ForwardOnlyLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "LabelsequenceAccuracy"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
};

}  // namespace caffe

#endif  // CAFFE_LABELSEQUENCE_ACCURACY_LAYER_HPP_
