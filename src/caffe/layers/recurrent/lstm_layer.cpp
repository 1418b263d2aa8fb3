#include "caffe/layers/lstm_layer.hpp"

#include <algorithm>

#include "caffe/context.hpp"
#include "caffe/kernels/lstm.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfLstm(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return RecurrentShapes(layer.recurrent_param(), 2, bottoms);
}

const bool lstm_registered = OperationTable::Add(Operation("LSTM")
                                                     .Stateful()
                                                     .Shapes(TopShapesOfLstm)
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .FloatBottoms({1}));

/// Measured by benchmarks/engines in the TEST phase: 3 to 5 times. Training is not measured yet.
bool OneDnnIsFaster(Phase phase) { return phase == TEST; }

}  // namespace

template <typename Dtype>
struct LSTMLayer<Dtype>::OneDnn {
  onednn::ForShape<onednn::Lstm> for_shape;
  onednn::Lstm* latest = nullptr;  // computed last; `stamp` is of the weights it holds
  uint64_t stamp = 0;
  Blob<Dtype> kept[2];  // the TEST phase's state before the latest pass
};

/// oneDNN's LSTM for the shape of now, with the weights of now; null where our own steps compute.
template <typename Dtype>
onednn::Lstm* LSTMLayer<Dtype>::PrepareOneDnn(const vector<Blob<Dtype>*>& bottom) {
  if (this->static_input_ || this->Parameters().debug_info() ||
      (this->phase_ == TRAIN && ClipsGradients()) ||
      !onednn::IsWanted<Dtype>(engine_, this->types(), OneDnnIsFaster(this->phase_))) {
    return nullptr;
  }
  const int T = this->T_, N = this->N_, D = this->D_;
  const Dtype* cont = this->Continuation(bottom);
  if (!std::all_of(cont + N, cont + size_t(T) * N, [](Dtype c) { return c == 1; })) return nullptr;
  const Blob<Dtype>& input_weights = *this->blobs_[this->input_weights_];
  const Blob<Dtype>& hidden_weights = *this->blobs_[this->hidden_weights_];
  const Blob<Dtype>& bias = *this->blobs_[this->bias_];
  if (!onednn_) onednn_ = std::make_shared<OneDnn>();
  const int inputs = input_weights.shape(1);
  onednn::Lstm* lstm = onednn_->for_shape.Get({T, N, inputs}, Layout(), [&] {
    return onednn::Lstm::Make(T, N, inputs, D, this->phase_ == TRAIN);
  });
  if (!lstm) return nullptr;
  uint64_t stamp = 1;
  for (const Blob<Dtype>* blob : {&input_weights, &hidden_weights, &bias}) {
    stamp = Mix(stamp, WriteStamp(*blob));
  }
  if (lstm != onednn_->latest || stamp != onednn_->stamp) {
    lstm->SetWeights(input_weights.template cpu_data_as<float>(),
                     bias.template cpu_data_as<float>(),
                     hidden_weights.template cpu_data_as<float>());
    onednn_->latest = lstm;
    onednn_->stamp = stamp;
  }
  return lstm;
}

template <typename Dtype>
bool LSTMLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  onednn::Lstm* lstm = PrepareOneDnn(bottom);
  if (!lstm) return false;
  // The state before the first step is cont times what is kept or given.
  const Dtype* cont = this->Continuation(bottom);
  vector<float> state[2];
  for (int i = 0; i < 2; ++i) {
    if (this->phase_ == TEST) onednn_->kept[i].CopyFrom(this->kept(i), false, true);
    state[i].resize(size_t(this->N_) * this->D_);
    if (!this->expose_hidden_ && !this->KeepsState(bottom)) continue;
    const Dtype* before = this->StateBefore(i, bottom).cpu_data();
    for (size_t k = 0; k < state[i].size(); ++k) state[i][k] = cont[k / this->D_] * before[k];
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
void LSTMLayer<Dtype>::BackwardOneDnn(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  Require(bottom.size() < 2 || !propagate_down[1], this->type(),
          " has no gradient for its continuation indicators");
  const size_t count = size_t(this->N_) * this->D_;
  vector<float> d_state[2];
  for (int i = 0; i < 2; ++i) {
    d_state[i].resize(count);  // the gradient of a state that the next batch takes on ends here
    if (this->expose_hidden_) {
      std::copy_n(top[1 + i]->template cpu_diff_as<float>(), count, d_state[i].begin());
    }
  }
  const auto gradient = [this](int i) {
    return this->param_propagate_down(i) ? this->blobs_[i]->template mutable_cpu_diff_as<float>()
                                         : nullptr;
  };
  Workspace::Buffer<float> unwanted(Context::Current().workspace(),
                                    propagate_down[0] ? 0 : bottom[0]->count());
  float* dx =
      propagate_down[0] ? bottom[0]->template overwrite_cpu_diff_as<float>() : unwanted.get();
  onednn_->latest->Backward(
      bottom[0]->template cpu_data_as<float>(), top[0]->template cpu_data_as<float>(),
      top[0]->template cpu_diff_as<float>(), d_state[0].data(), d_state[1].data(), dx,
      {gradient(this->input_weights_), gradient(this->bias_), gradient(this->hidden_weights_)});
  const Dtype* cont = this->Continuation(bottom);
  for (int i = 0; i < 2 && this->expose_hidden_; ++i) {
    if (!propagate_down[2 + i]) continue;
    float* d_before = bottom[2 + i]->template overwrite_cpu_diff_as<float>();
    for (size_t k = 0; k < count; ++k) d_before[k] = cont[k / this->D_] * d_state[i][k];
  }
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
  if (by_onednn_ && this->phase_ == TRAIN) return BackwardOneDnn(top, propagate_down, bottom);
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
