#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/recurrent.hpp"
#include "caffe/layers/lstm_layer.hpp"

namespace caffe {

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  Dtype* gates = X_acts_.template overwrite_gpu_data_as<Dtype>();
  cuda::Convert(stream, bottom[1]->count(), bottom[1]->gpu_data(), gates);
  cuda::LstmStep<Dtype>(stream, bottom[0]->shape(1), hidden_dim_, bottom[2]->gpu_data(),
                        bottom[0]->gpu_data(), gates,
                        top[0]->template overwrite_gpu_data_as<Dtype>(),
                        top[1]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[2], "LSTMUnit has no gradient for its continuation indicators");
  if (!propagate_down[0] && !propagate_down[1]) return;
  Stream& stream = cuda::CurrentStream();
  // One that was not asked for goes into scratch memory.
  cuda::Buffer<Dtype> dc_prev(stream, propagate_down[0] ? 0 : bottom[0]->count());
  cuda::Buffer<Dtype> d_gates(stream, propagate_down[1] ? 0 : bottom[1]->count());
  cuda::LstmStepGradient<Dtype>(
      stream, bottom[0]->shape(1), hidden_dim_, bottom[2]->gpu_data(), bottom[0]->gpu_data(),
      X_acts_.gpu_data(), top[0]->gpu_data(), top[1]->gpu_diff(), top[0]->gpu_diff(), 0,
      propagate_down[1] ? bottom[1]->template overwrite_gpu_diff_as<Dtype>() : d_gates.get(),
      propagate_down[0] ? bottom[0]->template overwrite_gpu_diff_as<Dtype>() : dc_prev.get());
}

INSTANTIATE_LAYER_GPU_FUNCS(LSTMUnitLayer);

}  // namespace caffe
