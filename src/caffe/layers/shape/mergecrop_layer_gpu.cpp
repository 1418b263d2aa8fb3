#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/mergecrop_layer.hpp"

namespace caffe {

template <typename Dtype>
void MergeCropLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  const kernels::Strides to = kernels::ContiguousStrides(top[0]->shape());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    T* y = top[0]->template overwrite_gpu_data_as<T>();
    if (!forward_[0] || !forward_[1]) cuda::Fill(stream, top[0]->count(), 0, y);
    for (int i = 0; i < 2; ++i) {
      if (!forward_[i]) continue;
      const Window window(bottom, i);
      const T* x = bottom[i]->template gpu_data_as<T>() + bottom[i]->offset(window.in_bottom);
      cuda::CopyStrided(stream, window.shape, x, kernels::ContiguousStrides(bottom[i]->shape()),
                        y + top[0]->offset(window.in_top), to);
    }
  });
}

template <typename Dtype>
void MergeCropLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  const kernels::Strides from = kernels::ContiguousStrides(top[0]->shape());
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    for (int i = 0; i < 2; ++i) {
      if (!propagate_down[i]) continue;
      D* dx = bottom[i]->template overwrite_gpu_diff_as<D>();
      cuda::Fill(stream, bottom[i]->count(), 0, dx);
      if (!backward_[i]) continue;
      const Window window(bottom, i);
      cuda::CopyStrided(stream, window.shape, dy + top[0]->offset(window.in_top), from,
                        dx + bottom[i]->offset(window.in_bottom),
                        kernels::ContiguousStrides(bottom[i]->shape()));
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(MergeCropLayer);

}  // namespace caffe
