#ifndef CAFFE_SOFT_TRUNCATION_LAYER_HPP_
#define CAFFE_SOFT_TRUNCATION_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

/// y = 1 - exp(-x / c), c being soft_truncation_param.c (1 unless given): near x / c for small x,
/// below 1 always. May be in place.
template <typename Dtype>
class SoftTruncationLayer : public NeuronLayer<Dtype> {
 public:
  explicit SoftTruncationLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SoftTruncation"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
};

}  // namespace caffe

#endif  // CAFFE_SOFT_TRUNCATION_LAYER_HPP_
