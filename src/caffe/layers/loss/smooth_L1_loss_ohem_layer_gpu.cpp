#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/losses.hpp"
#include "caffe/layers/smooth_L1_loss_ohem_layer.hpp"

namespace caffe {

template <typename Dtype>
void SmoothL1LossOHEMLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  SmoothL1LossLayer<Dtype>::Forward_gpu(bottom, top);
  if (top.size() < 2) return;
  cuda::PenaltyOfEach(cuda::CurrentStream(), bottom[0]->num(), bottom[0]->channels(),
                      bottom[0]->height() * bottom[0]->width(), this->gpu_penalty(),
                      this->diff_.gpu_data(), top[1]->template overwrite_gpu_data_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FORWARD(SmoothL1LossOHEMLayer);

}  // namespace caffe
