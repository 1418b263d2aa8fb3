#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/normalize.hpp"
#include "caffe/layers/mvn_layer.hpp"

namespace caffe {

template <typename Dtype>
void MVNLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const MVNParameter& param = this->layer_param_.mvn_param();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    double* deviation =
        param.normalize_variance() ? deviation_.template overwrite_gpu_data_as<double>() : nullptr;
    cuda::Standardize(cuda::CurrentStream(), static_cast<int>(rows_), static_cast<int>(length_),
                      param.eps(), x, top[0]->template overwrite_gpu_data_as<T>(), deviation);
  });
}

template <typename Dtype>
void MVNLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const MVNParameter& param = this->layer_param_.mvn_param();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    const double* deviation = param.normalize_variance() ? deviation_.gpu_data() : nullptr;
    cuda::StandardizeGradient(cuda::CurrentStream(), static_cast<int>(rows_),
                              static_cast<int>(length_), param.eps(),
                              top[0]->template gpu_data_as<T>(), deviation, dy,
                              bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(MVNLayer);

}  // namespace caffe
