#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/tile_layer.hpp"

namespace caffe {

template <typename Dtype>
void TileLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::Tile(cuda::CurrentStream(), outer_dim_, tiles_, inner_dim_, x,
               top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void TileLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::TileGradient(cuda::CurrentStream(), outer_dim_, tiles_, inner_dim_, dy,
                       bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(TileLayer);

}  // namespace caffe
