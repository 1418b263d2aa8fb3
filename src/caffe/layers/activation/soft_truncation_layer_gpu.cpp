#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/activation.hpp"
#include "caffe/layers/soft_truncation_layer.hpp"

namespace caffe {

template <typename Dtype>
void SoftTruncationLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const Dtype c = this->layer_param_.soft_truncation_param().c();
  const Dtype* x = bottom[0]->gpu_data();
  cuda::SoftTruncation(cuda::CurrentStream(), bottom[0]->count(), c, x,
                       top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void SoftTruncationLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype c = this->layer_param_.soft_truncation_param().c();
  const Dtype* dy = top[0]->gpu_diff();
  cuda::SoftTruncationGradient(cuda::CurrentStream(), bottom[0]->count(), c, top[0]->gpu_data(), dy,
                               bottom[0]->template overwrite_gpu_diff_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FUNCS(SoftTruncationLayer);

}  // namespace caffe
