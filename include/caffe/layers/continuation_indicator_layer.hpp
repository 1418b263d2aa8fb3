#ifndef CAFFE_CONTINUATION_INDICATOR_LAYER_HPP_
#define CAFFE_CONTINUATION_INDICATOR_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The continuation indicators of batch_size sequences that each begin with the batch and last
/// time_step steps: (time_step, batch_size), 0 in the first row and 1 in the others. With a bottom
/// (DeepDetect) batch_size may be left out: it is the bottom's extent on `axis` then. Of the bottom
/// nothing but its shape is read.
template <typename Dtype>
class ContinuationIndicatorLayer : public Layer<Dtype> {
 public:
  explicit ContinuationIndicatorLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ContinuationIndicator"; }
  int MinBottomBlobs() const override { return 0; }
  int MaxBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace caffe

#endif  // CAFFE_CONTINUATION_INDICATOR_LAYER_HPP_
