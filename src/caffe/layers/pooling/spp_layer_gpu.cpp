#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/resize.hpp"
#include "caffe/layers/spp_layer.hpp"

namespace caffe {

template <typename Dtype>
void SPPLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const cuda::Pyramid pyramid = GpuPyramid(*bottom[0]);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::PyramidPool(cuda::CurrentStream(), pyramid, x,
                      top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void SPPLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const cuda::Pyramid pyramid = GpuPyramid(*bottom[0]);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::PyramidPoolGradient(cuda::CurrentStream(), pyramid, bottom[0]->template gpu_data_as<T>(),
                              dy, bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(SPPLayer);

}  // namespace caffe
