#ifndef CAFFE_LRN_LAYER_HPP_
#define CAFFE_LRN_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

// Programs take them from here, as from Caffe's header.
#include "caffe/layers/eltwise_layer.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "caffe/layers/power_layer.hpp"
#include "caffe/layers/split_layer.hpp"

namespace caffe {

namespace kernels {
struct LrnShape;
}

namespace onednn {
class Lrn;
template <typename>
class Unary;
}  // namespace onednn

/// Local response normalisation (Krizhevsky, Sutskever and Hinton 2012): y = x / s^beta, where s is
/// k + alpha / n * the sum of squares over n = local_size channels around the element
/// (ACROSS_CHANNELS), or 1 + alpha * the mean of squares over a local_size x local_size window of
/// the same channel (WITHIN_CHANNEL), windows counting their padding.
template <typename Dtype>
class LRNLayer : public Layer<Dtype> {
 public:
  explicit LRNLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "LRN"; }
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

  int size_ = 5, pre_pad_ = 2;
  Dtype alpha_ = 1, beta_ = 0.75, k_ = 1;
  int num_ = 0, channels_ = 0, height_ = 0, width_ = 0;

 private:
  kernels::LrnShape ShapeNow() const;
  /// False where the library's own kernels compute.
  bool ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top);
  template <typename T>
  Layout LayoutOf(const Blob<Dtype>& blob) const;

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::Unary<onednn::Lrn>> onednn_;
  bool by_onednn_ = false;  // the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_LRN_LAYER_HPP_
