#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/recurrent.hpp"
#include "caffe/layers/rnn_layer.hpp"

namespace caffe {

template <typename Dtype>
void RNNLayer<Dtype>::GpuStep(int t, const Dtype*) {
  cuda::Tanh<Dtype>(cuda::CurrentStream(), this->N_ * this->D_, this->gpu_gate(t),
                    this->gpu_state(0, t + 1));
}

template <typename Dtype>
void RNNLayer<Dtype>::GpuStepGradient(int t, const Dtype*) {
  cuda::TanhGradient<Dtype>(cuda::CurrentStream(), this->N_ * this->D_, this->gpu_state(0, t + 1),
                            this->gpu_state_diff(0, t + 1), this->gpu_gate_diff(t));
}

template <typename Dtype>
const Dtype* RNNLayer<Dtype>::GpuOutputs() {
  Stream& stream = cuda::CurrentStream();
  const int rows = this->T_ * this->N_, columns = this->D_, weights = this->hidden_weights_ + 1;
  Dtype* o = output_.template overwrite_gpu_data_as<Dtype>();
  cuda::SpreadRow(stream, rows, columns, this->blobs_[weights + 1]->gpu_data(), false, o);
  cuda::Gemm<Dtype, Dtype>(stream, false, true, rows, columns, columns, 1, this->gpu_state(0, 1),
                           this->blobs_[weights]->gpu_data(), 1, o);
  cuda::Tanh(stream, rows * columns, o, o);
  return o;
}

template <typename Dtype>
void RNNLayer<Dtype>::GpuOutputGradient(Dtype* dh) {
  Stream& stream = cuda::CurrentStream();
  const int rows = this->T_ * this->N_, columns = this->D_;
  const int weights = this->hidden_weights_ + 1, bias = weights + 1;
  // Of what goes into the outer tanh.
  Dtype* d = output_.template overwrite_gpu_diff_as<Dtype>();
  cuda::TanhGradient(stream, rows * columns, output_.gpu_data(), dh, d);
  if (this->param_propagate_down(weights)) {
    cuda::Gemm<Dtype, Dtype>(stream, true, false, columns, columns, rows, 1, d,
                             this->gpu_state(0, 1), 1, this->blobs_[weights]->mutable_gpu_diff());
  }
  if (this->param_propagate_down(bias)) {
    cuda::SumOfRows(stream, rows, columns, d, true, this->blobs_[bias]->mutable_gpu_diff());
  }
  cuda::Gemm<Dtype, Dtype>(stream, false, false, rows, columns, columns, 1, d,
                           this->blobs_[weights]->gpu_data(), 0, dh);
}

#define INSTANTIATE(Dtype)                                           \
  template void RNNLayer<Dtype>::GpuStep(int, const Dtype*);         \
  template void RNNLayer<Dtype>::GpuStepGradient(int, const Dtype*); \
  template const Dtype* RNNLayer<Dtype>::GpuOutputs();               \
  template void RNNLayer<Dtype>::GpuOutputGradient(Dtype*);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace caffe
