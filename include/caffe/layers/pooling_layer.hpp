#ifndef CAFFE_POOLING_LAYER_HPP_
#define CAFFE_POOLING_LAYER_HPP_

#include <vector>

#include "caffe/kernels/pooling.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// The largest (MAX) or mean (AVE) value of each window. Bottom (N, C, H, W); top (N, C, ceil((H +
/// 2 pad - kernel) / stride) + 1, ...), or floor with round_mode FLOOR; with padding, a last window
/// that would begin behind the image is left out. With MAX, a second top gets the positions
/// h * W + w of the maxima, in Dtype.
template <typename Dtype>
class PoolingLayer : public Layer<Dtype> {
 public:
  explicit PoolingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Pooling"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return is_max() ? 2 : 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  bool is_max() const {
    return this->layer_param_.pooling_param().pool() == PoolingParameter_PoolMethod_MAX;
  }
  const vector<int>& IndexOfMaxima(const Blob<Dtype>& bottom);

  kernels::PoolingShape shape_;
  vector<int> index_;  // where each maximum lies, for the backward pass; empty in TEST
};

}  // namespace caffe

#endif  // CAFFE_POOLING_LAYER_HPP_
