#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "caffe/layers/im2col_layer.hpp"

namespace caffe {

template <typename Dtype>
void Im2colLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* image = bottom[0]->template gpu_data_as<T>();
    cuda::Im2col(cuda::CurrentStream(), *shape_, static_cast<int>(num_), shape_->channels, image,
                 top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void Im2colLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* column = top[0]->template gpu_diff_as<D>();
    cuda::Col2im(cuda::CurrentStream(), *shape_, static_cast<int>(num_), shape_->channels, column,
                 bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(Im2colLayer);

}  // namespace caffe
