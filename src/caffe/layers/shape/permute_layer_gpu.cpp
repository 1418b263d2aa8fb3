#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/permute_layer.hpp"

namespace caffe {

template <typename Dtype>
void PermuteLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const Shape& shape = top[0]->shape();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::CopyStrided(cuda::CurrentStream(), shape, x, BottomStrides(bottom[0]->shape()),
                      top[0]->template overwrite_gpu_data_as<T>(),
                      kernels::ContiguousStrides(shape));
  });
}

template <typename Dtype>
void PermuteLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Shape& shape = top[0]->shape();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::CopyStrided(cuda::CurrentStream(), shape, dy, kernels::ContiguousStrides(shape),
                      bottom[0]->template overwrite_gpu_diff_as<D>(),
                      BottomStrides(bottom[0]->shape()));
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(PermuteLayer);

}  // namespace caffe
