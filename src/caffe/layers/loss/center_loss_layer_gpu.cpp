#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/losses.hpp"
#include "caffe/layers/center_loss_layer.hpp"
#include "gpu_labels.hpp"

namespace caffe {

template <typename Dtype>
void CenterLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  cuda::CenterLoss(cuda::CurrentStream(), M_, K_, bottom[0]->gpu_data(),
                   GpuLabels(*bottom[1], N_, nullptr), this->blobs_[0]->gpu_data(),
                   distance_.template overwrite_gpu_data_as<Dtype>(),
                   top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void CenterLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  Stream& stream = cuda::CurrentStream();
  if (this->param_propagate_down_[0]) {
    cuda::CenterGradient(stream, M_, K_, GpuLabels(*bottom[1], N_, nullptr), distance_.gpu_data(),
                         this->blobs_[0]->mutable_gpu_diff());
  }
  if (!propagate_down[0]) return;
  cuda::ScaledBy(stream, distance_.count(), 1. / M_, top[0]->gpu_diff(), distance_.gpu_data(),
                 bottom[0]->template overwrite_gpu_diff_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FUNCS(CenterLossLayer);

}  // namespace caffe
