#ifndef CAFFE_ROI_SUM_LAYER_HPP_
#define CAFFE_ROI_SUM_LAYER_HPP_

#include <vector>

#include "caffe/layers/roi_layer.hpp"

namespace caffe {

/// A RoiLayer whose top is a weighted sum over each bin.
template <typename Dtype>
class RoiSumLayer : public RoiLayer<Dtype> {
 public:
  explicit RoiSumLayer(const LayerParameter& param) : RoiLayer<Dtype>(param) {}

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  bool position_sensitive_ = false;  ///< each bin has channels of its own
};

}  // namespace caffe

#endif  // CAFFE_ROI_SUM_LAYER_HPP_
