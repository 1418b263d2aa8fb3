#ifndef CAFFE_ACTIVATION_LAYER_HPP_
#define CAFFE_ACTIVATION_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace kernels {
struct Activation;
}

namespace onednn {
class Activation;
template <typename>
class Unary;
}  // namespace onednn

/// What layers that apply a kernels::Activation have in common: which one it is, a row of the
/// operation table says (Operation::Activates). May be in place: the input is then kept where the
/// gradient needs it (keeps_for_backward()); Backward throws Error where it would be needed and was
/// not.
template <typename Dtype>
class ActivationLayer : public NeuronLayer<Dtype> {
 public:
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  bool DescribePointwise(Pointwise* description) override;
  const char* forward_engine() const override { return EngineName(by_onednn_); }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  /// What the library's own row of type `operation` says of `param`, whatever type that names.
  ActivationLayer(const LayerParameter& param, const char* operation)
      : NeuronLayer<Dtype>(param), operation_(operation) {}

 private:
  /// The layout that the kernels take a tensor of the bottom's shape in.
  template <typename T>
  Layout LayoutOf(const Tensor& tensor, const Shape& shape) const;
  /// True if the top overwrites what the gradient is computed from.
  bool MustKeep(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;
  template <typename T>
  void Keep(const Blob<Dtype>& bottom, const Layout& layout);
  const Blob<Dtype>& GradientArgument(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;
  /// False where the library's own kernels compute.
  bool ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top);

  Blob<Dtype> kept_;  // x where y has overwritten it, in the forward type
  const char* const operation_;
  std::shared_ptr<const kernels::Activation> function_;
  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::Unary<onednn::Activation>> onednn_;
  bool by_onednn_ = false;  // the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_ACTIVATION_LAYER_HPP_
