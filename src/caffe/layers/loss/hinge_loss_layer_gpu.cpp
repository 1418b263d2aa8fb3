#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/losses.hpp"
#include "caffe/layers/hinge_loss_layer.hpp"
#include "gpu_labels.hpp"

namespace caffe {

template <typename Dtype>
void HingeLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const auto labels = GpuLabels(*bottom[1], bottom[0]->count(1), nullptr);
  cuda::HingeLoss(cuda::CurrentStream(), bottom[0]->shape(0), squared(), bottom[0]->gpu_data(),
                  labels, top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void HingeLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  if (!propagate_down[0]) return;
  const auto labels = GpuLabels(*bottom[1], bottom[0]->count(1), nullptr);
  cuda::HingeLossGradient(cuda::CurrentStream(), bottom[0]->shape(0), squared(),
                          bottom[0]->gpu_data(), labels, top[0]->gpu_diff(),
                          bottom[0]->template overwrite_gpu_diff_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FUNCS(HingeLossLayer);

}  // namespace caffe
