#ifndef CAFFE_SOFTMAX_LAYER_HPP_
#define CAFFE_SOFTMAX_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

namespace caffe {

namespace onednn {
class Softmax;
template <typename>
class Unary;
}  // namespace onednn

/// y = exp(x) / sum of exp(x) over `axis` (1 by default). May be in place.
template <typename Dtype>
class SoftmaxLayer : public Layer<Dtype> {
 public:
  explicit SoftmaxLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Softmax"; }
  const char* forward_engine() const override {
    return EngineName(by_onednn_, engine_ == Engine::REFERENCE);
  }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  int outer_num_ = 0;
  int inner_num_ = 0;
  int softmax_axis_ = 1;

 private:
  /// False where the library's own kernels compute.
  bool ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::Unary<onednn::Softmax>> onednn_;
  bool by_onednn_ = false;  // the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_LAYER_HPP_
