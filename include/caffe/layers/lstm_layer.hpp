#ifndef CAFFE_LSTM_LAYER_HPP_
#define CAFFE_LSTM_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layers/direct_recurrent_layer.hpp"

namespace caffe {

namespace onednn {
class Lstm;
}

/// The long short-term memory (Hochreiter and Schmidhuber 1997; in the form of Zaremba and
/// Sutskever, "Learning to Execute"): h' = cont_t h_(t-1),
///
///     i_t = sigmoid(W_hi h' + W_xi x_t + b_i), f_t and o_t likewise,
///     g_t = tanh(W_hg h' + W_xg x_t + b_g),
///     c_t = cont_t f_t c_(t-1) + i_t g_t,  h_t = o_t tanh(c_t).
///
/// Output: h. Parameters: W_xc (4 D, inputs), b_c (4 D), W_xc_static if there is a static input,
/// W_hc (4 D, D), with the gates' rows in the order i, f, o, g. Exposed states: h, c.
///
/// Engine ONEDNN computes in FLOAT where no sequence begins behind the first step and there is no
/// static input; it is the default in the TEST phase.
template <typename Dtype>
class LSTMLayer : public DirectRecurrentLayer<Dtype> {
 public:
  explicit LSTMLayer(const LayerParameter& param) : DirectRecurrentLayer<Dtype>(param) {}
  const char* type() const override { return "LSTM"; }
  const char* forward_engine() const override { return EngineName(by_onednn_); }

 protected:
  int states() const override { return 2; }
  int gates() const override { return 4; }
  void Step(int t, const Dtype* cont) override;
  void StepGradient(int t, const Dtype* cont) override;
#ifndef CPU_ONLY
  void GpuStep(int t, const Dtype* cont) override;
  void GpuStepGradient(int t, const Dtype* cont) override;
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// Gradients of what goes into the gates are kept within +-this, if it is positive.
  virtual Dtype GradientBound() const { return 0; }
#endif
  /// True if StepGradient does more than the definition says.
  virtual bool ClipsGradients() const { return false; }
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  struct OneDnn;
  onednn::Lstm* PrepareOneDnn(const vector<Blob<Dtype>*>& bottom);
  bool ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  void BackwardOneDnn(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                      const vector<Blob<Dtype>*>& bottom);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<OneDnn> onednn_;
  bool by_onednn_ = false;  // the latest forward pass
};

/// One step of an LSTM. Bottoms: c_(t-1) (1, N, D), what goes into the gates (1, N, 4 D), cont
/// (1, N). Tops: c_t, h_t, both (1, N, D). cont has no gradient.
template <typename Dtype>
class LSTMUnitLayer : public Layer<Dtype> {
 public:
  explicit LSTMUnitLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "LSTMUnit"; }
  int ExactNumBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return 2; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  int hidden_dim_ = 0;  ///< D
  Blob<Dtype> X_acts_;  ///< the gates i, f, o, g
};

}  // namespace caffe

#endif  // CAFFE_LSTM_LAYER_HPP_
