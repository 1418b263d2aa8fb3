#ifndef CAFFE_RELU_LAYER_HPP_
#define CAFFE_RELU_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace onednn {
class Activation;
template <typename>
class ForShape;
}  // namespace onednn

/// y = max(x, 0) + negative_slope * min(x, 0). May be in place.
template <typename Dtype>
class ReLULayer : public NeuronLayer<Dtype> {
 public:
  explicit ReLULayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  const char* type() const override { return "ReLU"; }
  bool DescribePointwise(Pointwise* description) override;
  const char* forward_engine() const override { return EngineName(active_); }

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
  /// Null where the library's own kernels compute.
  onednn::Activation* OneDnn(const Blob<Dtype>& bottom);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::ForShape<onednn::Activation>> onednn_;
  onednn::Activation* active_ = nullptr;  // what the latest forward pass ran; null: our own kernels
};

}  // namespace caffe

#endif  // CAFFE_RELU_LAYER_HPP_
