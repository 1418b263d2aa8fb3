#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/concat_layer.hpp"

namespace caffe {

template <typename Dtype>
void ConcatLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  by_onednn_ = false;
  if (bottom.size() == 1) return;  // the top is the bottom
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    T* y = top[0]->template overwrite_gpu_data_as<T>();
    const int outer = top[0]->count(0, concat_axis_), row = top[0]->count(concat_axis_);
    for (const Blob<Dtype>* blob : bottom) {
      const int piece = blob->count(concat_axis_);
      cuda::CopyRows(cuda::CurrentStream(), outer, piece, blob->template gpu_data_as<T>(), piece, y,
                     row);
      y += piece;
    }
  });
}

template <typename Dtype>
void ConcatLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    const int outer = top[0]->count(0, concat_axis_), row = top[0]->count(concat_axis_);
    for (size_t i = 0; i < bottom.size(); ++i) {
      const int piece = bottom[i]->count(concat_axis_);
      if (propagate_down[i]) {
        cuda::CopyRows(cuda::CurrentStream(), outer, piece, dy, row,
                       bottom[i]->template overwrite_gpu_diff_as<D>(), piece);
      }
      dy += piece;
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ConcatLayer);

}  // namespace caffe
