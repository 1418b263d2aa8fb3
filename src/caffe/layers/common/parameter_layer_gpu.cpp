#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/parameter_layer.hpp"

namespace caffe {

template <typename Dtype>
void ParameterLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>&,
                                        const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    cuda::Convert(cuda::CurrentStream(), top[0]->count(),
                  this->blobs_[0]->template gpu_data_as<T>(),
                  top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void ParameterLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>&,
                                         const vector<Blob<Dtype>*>&) {
  if (!this->param_propagate_down_[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::Axpby(cuda::CurrentStream(), top[0]->count(), G(1), dy, G(1),
                this->blobs_[0]->template mutable_gpu_diff_as<G>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ParameterLayer);

}  // namespace caffe
