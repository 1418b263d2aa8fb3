#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/roi.hpp"
#include "caffe/layers/roi_pooling_layer.hpp"

namespace caffe {

template <typename Dtype>
void ROIPoolingLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  const cuda::RoiBins bins = this->GpuBins(*bottom[1]);
  gpu_index_.Reshape(top[0]->shape());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::RoiMaxForward(cuda::CurrentStream(), bins, x, top[0]->template overwrite_gpu_data_as<T>(),
                        gpu_index_.template overwrite_gpu_data_as<int>());
  });
}

template <typename Dtype>
void ROIPoolingLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const cuda::RoiBins bins = this->GpuBins(*bottom[1]);
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::RoiMaxBackward(cuda::CurrentStream(), bins, dy, gpu_index_.gpu_data(),
                         bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ROIPoolingLayer);

}  // namespace caffe
