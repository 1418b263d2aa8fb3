#ifndef CAFFE_CLIPPED_LSTM_LAYER_HPP_
#define CAFFE_CLIPPED_LSTM_LAYER_HPP_

#include <vector>

#include "caffe/layers/lstm_layer.hpp"

namespace caffe {

/// Type "Lstm": the LSTM of junhyukoh/caffe-lstm and of text recognizers that grew from it.
///
/// Bottoms: inputs (T * N, ...) with N = lstm_param.batch_size, or, with 3 axes and batch_size left
/// out, (T, N, inputs); if given, T * N continuation indicators ("clip"), 0 where a sequence
/// begins. Top: (T * N, D) or (T, N, D). With indicators the state is kept from batch to batch,
/// else every batch begins N sequences. Parameters: W_x (4 D, inputs), W_h (4 D, D), b (4 D), gates
/// i, f, o, g. Gradients of the gates' inputs are cut off at +-clipping_threshold unless it is 0.
template <typename Dtype>
class LstmLayer : public LSTMLayer<Dtype> {
 public:
  explicit LstmLayer(const LayerParameter& param) : LSTMLayer<Dtype>(param) {
    this->hidden_weights_ = 1;
    this->bias_ = 2;
  }
  const char* type() const override { return "Lstm"; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  RecurrentParameter Parameters() const override;
  std::vector<Shape> TopShapes(const std::vector<Shape>& bottoms) const override;
  void SetLengths(const Shape& input) override;
  std::vector<ParameterBlob> NeededParameters(int inputs, int static_inputs) const override;
  const Dtype* Continuation(const vector<Blob<Dtype>*>& bottom) override;
  bool KeepsState(const vector<Blob<Dtype>*>& bottom) const override { return bottom.size() > 1; }
  void StepGradient(int t, const Dtype* cont) override;
#ifndef CPU_ONLY
  const Dtype* GpuContinuation(const vector<Blob<Dtype>*>& bottom) override;
  Dtype GradientBound() const override {
    return this->layer_param_.lstm_param().clipping_threshold();
  }
#endif
  bool ClipsGradients() const override {
    return this->layer_param_.lstm_param().clipping_threshold() > 0;
  }

 private:
  Blob<Dtype> cont_;  // (T, N)
};

}  // namespace caffe

#endif  // CAFFE_CLIPPED_LSTM_LAYER_HPP_
