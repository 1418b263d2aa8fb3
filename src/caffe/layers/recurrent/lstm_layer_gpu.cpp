#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/recurrent.hpp"
#include "caffe/layers/lstm_layer.hpp"

namespace caffe {

template <typename Dtype>
void LSTMLayer<Dtype>::GpuStep(int t, const Dtype* cont) {
  cuda::LstmStep<Dtype>(cuda::CurrentStream(), this->N_, this->D_, cont, this->gpu_state(1, t),
                        this->gpu_gate(t), this->gpu_state(1, t + 1), this->gpu_state(0, t + 1));
}

template <typename Dtype>
void LSTMLayer<Dtype>::GpuStepGradient(int t, const Dtype* cont) {
  cuda::LstmStepGradient<Dtype>(
      cuda::CurrentStream(), this->N_, this->D_, cont, this->gpu_state(1, t), this->gpu_gate(t),
      this->gpu_state(1, t + 1), this->gpu_state_diff(0, t + 1), this->gpu_state_diff(1, t + 1),
      GradientBound(), this->gpu_gate_diff(t), this->gpu_state_diff(1, t));
}

template <typename Dtype>
void LSTMLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  by_onednn_ = false;
  DirectRecurrentLayer<Dtype>::Forward_gpu(bottom, top);
}

INSTANTIATE_LAYER_GPU_FORWARD(LSTMLayer);

template void LSTMLayer<float>::GpuStep(int, const float*);
template void LSTMLayer<double>::GpuStep(int, const double*);
template void LSTMLayer<float>::GpuStepGradient(int, const float*);
template void LSTMLayer<double>::GpuStepGradient(int, const double*);

}  // namespace caffe
