#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/activation.hpp"
#include "caffe/layers/relu_layer.hpp"

namespace caffe {

template <typename Dtype>
void ReLULayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::Relu<T>(cuda::CurrentStream(), bottom[0]->count(), slope, x,
                  top[0]->template overwrite_gpu_data_as<T>());
  });
}

// In place, x is y here: the sign of y is that of x as long as the slope is not negative.
template <typename Dtype>
void ReLULayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::ReluGradient<T, D>(cuda::CurrentStream(), bottom[0]->count(), slope,
                             bottom[0]->template gpu_data_as<T>(), dy,
                             bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ReLULayer);

}  // namespace caffe
