#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/reverse_layer.hpp"

namespace caffe {

template <typename Dtype>
void ReverseLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const Shape& shape = bottom[0]->shape();
  std::ptrdiff_t first;
  const kernels::Strides backwards = Backwards(shape, &first);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::CopyStrided(cuda::CurrentStream(), shape, x + first, backwards,
                      top[0]->template overwrite_gpu_data_as<T>(),
                      kernels::ContiguousStrides(shape));
  });
}

template <typename Dtype>
void ReverseLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Shape& shape = bottom[0]->shape();
  std::ptrdiff_t first;
  const kernels::Strides backwards = Backwards(shape, &first);
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::CopyStrided(cuda::CurrentStream(), shape, dy + first, backwards,
                      bottom[0]->template overwrite_gpu_diff_as<D>(),
                      kernels::ContiguousStrides(shape));
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ReverseLayer);

}  // namespace caffe
