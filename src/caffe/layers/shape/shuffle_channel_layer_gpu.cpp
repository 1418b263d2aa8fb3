#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/shuffle_channel_layer.hpp"

namespace caffe {

namespace {

/// y[n, column, row, :] = x[n, row, column, :].
template <typename Dtype, typename T>
void TransposeOnGpu(const Blob<Dtype>& blob, int rows, int columns, const T* x, T* y) {
  const int num = blob.shape(0), inner = blob.count(2);
  const Shape shape = {num, columns, rows, inner};
  const kernels::Strides from = kernels::ContiguousStrides({num, rows, columns, inner});
  cuda::CopyStrided(cuda::CurrentStream(), shape, x, {from[0], from[2], from[1], 1}, y,
                    kernels::ContiguousStrides(shape));
}

}  // namespace

template <typename Dtype>
void ShuffleChannelLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    TransposeOnGpu(*bottom[0], group_, bottom[0]->shape(1) / group_, x,
                   top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void ShuffleChannelLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    TransposeOnGpu(*bottom[0], bottom[0]->shape(1) / group_, group_, dy,
                   bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ShuffleChannelLayer);

}  // namespace caffe
