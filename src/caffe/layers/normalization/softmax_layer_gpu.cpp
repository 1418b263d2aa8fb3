#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/softmax.hpp"
#include "caffe/layers/softmax_layer.hpp"

namespace caffe {

template <typename Dtype>
void SoftmaxLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  by_onednn_ = false;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::Softmax(cuda::CurrentStream(), outer_num_, bottom[0]->shape(softmax_axis_), inner_num_, x,
                  top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::SoftmaxGradient(cuda::CurrentStream(), outer_num_, top[0]->shape(softmax_axis_),
                          inner_num_, top[0]->template gpu_data_as<T>(), dy,
                          bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(SoftmaxLayer);

}  // namespace caffe
