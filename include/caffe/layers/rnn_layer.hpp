#ifndef CAFFE_RNN_LAYER_HPP_
#define CAFFE_RNN_LAYER_HPP_

#include <vector>

#include "caffe/layers/direct_recurrent_layer.hpp"

namespace caffe {

/// The simple recurrent net: h' = cont_t h_(t-1),
///
///     h_t = tanh(W_hh h' + W_xh x_t + b_h),  o_t = tanh(W_ho h_t + b_o).
///
/// Parameters: W_xh, b_h, W_xh_static if there is a static input, W_hh, W_ho, b_o.
template <typename Dtype>
class RNNLayer : public DirectRecurrentLayer<Dtype> {
 public:
  explicit RNNLayer(const LayerParameter& param) : DirectRecurrentLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "RNN"; }

 protected:
  int states() const override { return 1; }
  int gates() const override { return 1; }
  std::vector<ParameterBlob> NeededParameters(int inputs, int static_inputs) const override;
  void Step(int t, const Dtype* cont) override;
  void StepGradient(int t, const Dtype* cont) override;
  const Dtype* Outputs() override;
  void OutputGradient(Dtype* dh) override;
#ifndef CPU_ONLY
  void GpuStep(int t, const Dtype* cont) override;
  void GpuStepGradient(int t, const Dtype* cont) override;
  const Dtype* GpuOutputs() override;
  void GpuOutputGradient(Dtype* dh) override;
#endif

 private:
  Blob<Dtype> output_;  // (T, N, D): o
};

}  // namespace caffe

#endif  // CAFFE_RNN_LAYER_HPP_
