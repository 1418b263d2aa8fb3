#ifndef CAFFE_INNER_PRODUCT_LAYER_HPP_
#define CAFFE_INNER_PRODUCT_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

namespace caffe {

template <typename Dtype>
class FusedFollowers;
template <typename Dtype>
class LinearMapRunner;
template <typename Dtype>
class PackedInnerProductRunner;

/// y = x W^T + b, a fully connected layer.
///
/// Bottom (outer..., inner...), split at `axis` into M x K; top (outer..., num_output).
/// Parameters: weights (num_output, K), or (K, num_output) with `transpose`; bias (num_output).
template <typename Dtype>
class InnerProductLayer : public Layer<Dtype> {
 public:
  explicit InnerProductLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "InnerProduct"; }
  const char* forward_engine() const override {
    return EngineName(by_onednn_, engine_ == Engine::REFERENCE);
  }
  /// Activations, for FLOAT16 in the TEST phase.
  int FuseFollowers(const vector<Layer<Dtype>*>& followers) override;
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Forward_fused(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  int M_ = 0;  // rows: the outer axes together
  int K_ = 0;  // inputs of each row
  int N_ = 0;  // outputs
  bool bias_term_ = true;
  bool transpose_ = false;

 private:
  bool ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  bool UsesPackedWeights() const;
  void Run(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top, bool fused);
  bool ForwardPacked(const Blob<Dtype>& bottom, Blob<Dtype>* top, bool fused);
  void ForwardReference(const Blob<Dtype>& bottom, Blob<Dtype>* top);
  void BackwardReference(const Blob<Dtype>& top, bool propagate_down, Blob<Dtype>* bottom);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<LinearMapRunner<Dtype>> onednn_;
  std::shared_ptr<PackedInnerProductRunner<Dtype>> packed_;
  std::shared_ptr<FusedFollowers<Dtype>> followers_;
  bool by_onednn_ = false;  // the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_INNER_PRODUCT_LAYER_HPP_
