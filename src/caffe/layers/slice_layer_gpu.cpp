#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/slice_layer.hpp"

namespace caffe {

template <typename Dtype>
void SliceLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    const int outer = bottom[0]->count(0, slice_axis_), row = bottom[0]->count(slice_axis_);
    for (Blob<Dtype>* blob : top) {
      const int part = blob->count(slice_axis_);
      cuda::CopyRows(cuda::CurrentStream(), outer, part, x, row,
                     blob->template overwrite_gpu_data_as<T>(), part);
      x += part;
    }
  });
}

template <typename Dtype>
void SliceLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    D* dx = bottom[0]->template overwrite_gpu_diff_as<D>();
    const int outer = bottom[0]->count(0, slice_axis_), row = bottom[0]->count(slice_axis_);
    for (const Blob<Dtype>* blob : top) {
      const int part = blob->count(slice_axis_);
      cuda::CopyRows(cuda::CurrentStream(), outer, part, blob->template gpu_diff_as<D>(), part, dx,
                     row);
      dx += part;
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(SliceLayer);

}  // namespace caffe
