#ifndef CAFFE_PRELU_LAYER_HPP_
#define CAFFE_PRELU_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace kernels {
struct ChannelOrder;
}

/// y = x for x > 0, slope * x otherwise, the slopes being learned: He, Zhang, Ren and Sun 2015.
/// Bottom (N, C, ...) of 2 axes or more; the parameter has the shape (C), or is one number with
/// channel_shared; it starts at 0.25 without a filler.
///
/// May be in place: x is then kept for the gradients (keeps_for_backward()). Where it is not they
/// need slopes above 0, else Backward throws Error.
template <typename Dtype>
class PReLULayer : public NeuronLayer<Dtype> {
 public:
  explicit PReLULayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "PReLU"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  bool channel_shared_ = false;
  Blob<Dtype> bottom_memory_;  ///< x where y has overwritten it, in the forward type

 private:
  bool ForwardBlocked(const Blob<Dtype>& bottom, Blob<Dtype>* top) const;
  template <typename T>
  Layout LayoutOf(const Blob<Dtype>& blob) const;
  kernels::ChannelOrder OrderIn(const Layout& layout) const;
  bool InputIsLost(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;

  size_t outer_ = 0, channels_ = 0, inner_ = 0;  // channels_: how many slopes
};

}  // namespace caffe

#endif  // CAFFE_PRELU_LAYER_HPP_
