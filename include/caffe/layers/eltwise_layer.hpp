#ifndef CAFFE_ELTWISE_LAYER_HPP_
#define CAFFE_ELTWISE_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

namespace caffe {

namespace onednn {
class Elementwise;
template <typename>
class ForShape;
}  // namespace onednn

/// y = the product (PROD), the sum with coefficients (SUM) or the maximum (MAX) of two or more
/// bottoms of one shape, element by element.
template <typename Dtype>
class EltwiseLayer : public Layer<Dtype> {
 public:
  explicit EltwiseLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Eltwise"; }
  const char* forward_engine() const override { return EngineName(by_onednn_); }
  int MinBottomBlobs() const override { return 2; }
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

  EltwiseParameter_EltwiseOp op_ = EltwiseParameter_EltwiseOp_SUM;
  vector<Dtype> coeffs_;

 private:
  bool ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, Blob<Dtype>* top);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::ForShape<onednn::Elementwise>> onednn_;
  bool by_onednn_ = false;  // the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_ELTWISE_LAYER_HPP_
