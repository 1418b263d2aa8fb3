#include "caffe/layers/rnn_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfRnn(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return RecurrentShapes(layer.recurrent_param(), 1, bottoms);
}

const bool rnn_registered = OperationTable::Add(Operation("RNN")
                                                    .Stateful()
                                                    .Shapes(TopShapesOfRnn)
                                                    .BackwardReads(Operation::kBottomData)
                                                    .Native()
                                                    .FloatBottoms({1}));

template <typename T>
void Tanh(size_t n, const T* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::tanh(x[i]);
}

/// dx = dy (1 - y^2), y being tanh(x).
template <typename T>
void TanhGradient(size_t n, const T* y, const T* dy, T* dx) {
  for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * (1 - y[i] * y[i]);
}

}  // namespace

template <typename Dtype>
std::vector<ParameterBlob> RNNLayer<Dtype>::NeededParameters(int inputs, int static_inputs) const {
  const RecurrentParameter param = this->Parameters();
  auto needed = DirectRecurrentLayer<Dtype>::NeededParameters(inputs, static_inputs);
  needed.push_back({{this->D_, this->D_}, param.weight_filler()});
  needed.push_back({{this->D_}, param.bias_filler()});
  return needed;
}

template <typename Dtype>
void RNNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  DirectRecurrentLayer<Dtype>::Reshape(bottom, top);
  output_.Reshape({this->T_, this->N_, this->D_});
}

template <typename Dtype>
void RNNLayer<Dtype>::Step(int t, const Dtype*) {
  Tanh(size_t(this->N_) * this->D_, this->gate(t), this->state(0, t + 1));
}

template <typename Dtype>
void RNNLayer<Dtype>::StepGradient(int t, const Dtype*) {
  TanhGradient(size_t(this->N_) * this->D_, this->state(0, t + 1), this->state_diff(0, t + 1),
               this->gate_diff(t));
}

template <typename Dtype>
const Dtype* RNNLayer<Dtype>::Outputs() {
  const int rows = this->T_ * this->N_, columns = this->D_;
  const Dtype* bias = this->blobs_[this->hidden_weights_ + 2]->cpu_data();
  Dtype* o = output_.mutable_cpu_data();
  for (int row = 0; row < rows; ++row) std::copy(bias, bias + columns, o + size_t(row) * columns);
  kernels::Gemm(false, true, rows, columns, columns, Dtype(1), this->state(0, 1),
                this->blobs_[this->hidden_weights_ + 1]->cpu_data(), Dtype(1), o);
  Tanh(output_.count(), o, o);
  return o;
}

template <typename Dtype>
void RNNLayer<Dtype>::OutputGradient(Dtype* dh) {
  const int rows = this->T_ * this->N_, columns = this->D_;
  const int weights = this->hidden_weights_ + 1, bias = weights + 1;
  Dtype* d = output_.mutable_cpu_diff();  // of what goes into the outer tanh
  TanhGradient(output_.count(), output_.cpu_data(), dh, d);
  if (this->param_propagate_down(weights)) {
    kernels::Gemm(true, false, columns, columns, rows, Dtype(1), d, this->state(0, 1), Dtype(1),
                  this->blobs_[weights]->mutable_cpu_diff());
  }
  if (this->param_propagate_down(bias)) {
    Dtype* d_bias = this->blobs_[bias]->mutable_cpu_diff();
    for (int row = 0; row < rows; ++row) {
      kernels::Axpy(columns, Dtype(1), d + size_t(row) * columns, d_bias);
    }
  }
  kernels::Gemm(false, false, rows, columns, columns, Dtype(1), d,
                this->blobs_[weights]->template cpu_data_as<Dtype>(), Dtype(0), dh);
}

INSTANTIATE_CLASS(RNNLayer);
REGISTER_LAYER_CLASS(RNN);

}  // namespace caffe
