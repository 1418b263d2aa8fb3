#ifndef CAFFE_INNER_PRODUCT_LAYER_HPP_
#define CAFFE_INNER_PRODUCT_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

namespace caffe {

namespace algorithms {
struct InnerProductProblem;
}

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
  const char* forward_engine() const override;
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
  struct Products;
  algorithms::InnerProductProblem ProblemFor(const Blob<Dtype>& bottom) const;
  void ForwardAll(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top, bool fused);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<Products> products_;  // made by LayerSetUp
};

}  // namespace caffe

#endif  // CAFFE_INNER_PRODUCT_LAYER_HPP_
