#ifndef CAFFE_ROI_POOLING_LAYER_HPP_
#define CAFFE_ROI_POOLING_LAYER_HPP_

#include <vector>

#include "caffe/layers/roi_layer.hpp"

namespace caffe {

/// The largest value in each of pooled_h x pooled_w parts of each region (Girshick, "Fast R-CNN",
/// section 2.1). Corners are rounded to the map's positions; a region has at least one. A part
/// outside of the map gives 0. Top: (R, C, pooled_h, pooled_w).
template <typename Dtype>
class ROIPoolingLayer : public RoiLayer<Dtype> {
 public:
  explicit ROIPoolingLayer(const LayerParameter& param) : RoiLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ROIPooling"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
  kernels::RoiBins BinsOf(const Roi& roi) const override;

 private:
  vector<int> index_;  // where each maximum lies, for the backward pass
#ifndef CPU_ONLY
  Blob<int> gpu_index_;  // the same
#endif
};

}  // namespace caffe

#endif  // CAFFE_ROI_POOLING_LAYER_HPP_
