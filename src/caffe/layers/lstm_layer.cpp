#include "caffe/layers/lstm_layer.hpp"

#include <algorithm>

#include "../onednn/for_shape.hpp"
#include "absorbed_layers.hpp"
#include "caffe/kernels/lstm.hpp"

namespace caffe {
namespace {

std::vector<Shape> ShapesOf(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return RecurrentShapes(layer.recurrent_param(), 2, bottoms);
}

const bool registered = OperationTable::Add(Operation("LSTM")
                                                .Stateful()
                                                .Shapes(ShapesOf)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .FloatBottoms({1}));

/// Measured by benchmarks/engines: 3 to 5 times.
constexpr bool kOneDnnIsFaster = true;

}  // namespace

template <typename Dtype>
struct LSTMLayer<Dtype>::OneDnn {
  onednn::ForShape<onednn::Lstm> for_shape;
  onednn::Lstm* stamped = nullptr;  // whose weights stamp is of
  uint64_t stamp = 0;
  Blob<Dtype> kept[2];  // the state before the latest pass, for a backward pass that is asked for
};

template <typename Dtype>
bool LSTMLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  if (this->phase_ != TEST || this->static_input_ || this->Parameters().debug_info() ||
      !onednn::IsWanted<Dtype>(engine_, this->types(), kOneDnnIsFaster)) {
    return false;
  }
  const int T = this->T_, N = this->N_, D = this->D_;
  const Dtype* cont = this->Continuation(bottom);
  if (!std::all_of(cont + N, cont + size_t(T) * N, [](Dtype c) { return c == 1; })) return false;
  const Blob<Dtype>& input_weights = *this->blobs_[this->input_weights_];
  const Blob<Dtype>& hidden_weights = *this->blobs_[this->hidden_weights_];
  const Blob<Dtype>& bias = *this->blobs_[this->bias_];
  if (!onednn_) onednn_ = std::make_shared<OneDnn>();
  const int inputs = input_weights.shape(1);
  onednn::Lstm* lstm = onednn_->for_shape.Get({T, N, inputs}, Layout(),
                                              [&] { return onednn::Lstm::Make(T, N, inputs, D); });
  if (!lstm) return false;
  uint64_t stamp = 1;
  for (const Blob<Dtype>* blob : {&input_weights, &hidden_weights, &bias}) {
    stamp = Mix(stamp, WriteStamp(*blob));
  }
  if (lstm != onednn_->stamped || stamp != onednn_->stamp) {
    lstm->SetWeights(input_weights.template cpu_data_as<float>(),
                     bias.template cpu_data_as<float>(),
                     hidden_weights.template cpu_data_as<float>());
    onednn_->stamped = lstm;
    onednn_->stamp = stamp;
  }
  // The state before the first step is cont times what is kept or given.
  vector<float> state[2];
  for (int i = 0; i < 2; ++i) {
    onednn_->kept[i].CopyFrom(this->kept(i), false, true);
    state[i].resize(size_t(N) * D);
    if (!this->expose_hidden_ && !this->KeepsState(bottom)) continue;
    const Dtype* before = this->StateBefore(i, bottom).cpu_data();
    for (size_t k = 0; k < state[i].size(); ++k) state[i][k] = cont[k / D] * before[k];
  }
  lstm->Forward(bottom[0]->template cpu_data_as<float>(), state[0].data(), state[1].data(),
                top[0]->template overwrite_cpu_data_as<float>());
  for (int i = 0; i < 2; ++i) {
    std::copy(state[i].begin(), state[i].end(), this->kept(i).mutable_cpu_data());
    if (!this->expose_hidden_) continue;
    std::copy(state[i].begin(), state[i].end(),
              top[1 + i]->template overwrite_cpu_data_as<float>());
  }
  return true;
}

template <typename Dtype>
void LSTMLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  by_onednn_ = ForwardOneDnn(bottom, top);
  if (!by_onednn_) DirectRecurrentLayer<Dtype>::Forward_cpu(bottom, top);
}

// oneDNN's inference leaves nothing that a gradient could be computed from: the pass is run again.
template <typename Dtype>
void LSTMLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (by_onednn_) {
    for (int i = 0; i < 2; ++i) this->kept(i).CopyFrom(onednn_->kept[i]);
    DirectRecurrentLayer<Dtype>::Forward_cpu(bottom, top);
    by_onednn_ = false;
  }
  DirectRecurrentLayer<Dtype>::Backward_cpu(top, propagate_down, bottom);
}

template <typename Dtype>
void LSTMLayer<Dtype>::Step(int t, const Dtype* cont) {
  kernels::LstmStep<Dtype>(this->N_, this->D_, cont, this->state(1, t), this->gate(t),
                           this->state(1, t + 1), this->state(0, t + 1));
}

template <typename Dtype>
void LSTMLayer<Dtype>::StepGradient(int t, const Dtype* cont) {
  kernels::LstmStepGradient<Dtype>(this->N_, this->D_, cont, this->state(1, t), this->gate(t),
                                   this->state(1, t + 1), this->state_diff(0, t + 1),
                                   this->state_diff(1, t + 1), this->gate_diff(t),
                                   this->state_diff(1, t));
}

INSTANTIATE_CLASS(LSTMLayer);
REGISTER_LAYER_CLASS(LSTM);

}  // namespace caffe
