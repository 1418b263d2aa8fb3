#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/losses.hpp"
#include "caffe/layers/sigmoid_cross_entropy_loss_layer.hpp"

namespace caffe {

namespace {

template <typename Dtype>
cuda::Targets<Dtype> TargetsOf(const Blob<Dtype>& targets, const int* ignored) {
  return {targets.gpu_data(), ignored != nullptr, ignored ? *ignored : 0};
}

}  // namespace

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                                      const vector<Blob<Dtype>*>& top) {
  cuda::SigmoidLoss(cuda::CurrentStream(), bottom[0]->count(), bottom[0]->gpu_data(),
                    TargetsOf(*bottom[1], this->ignored()), this->GpuDivisor(),
                    top[0]->template overwrite_gpu_data_as<Dtype>(),
                    this->OverwriteGpuNormalizer());
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                                       const vector<bool>& propagate_down,
                                                       const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("targets", 1, propagate_down);
  if (!propagate_down[0]) return;
  cuda::SigmoidLossGradient(cuda::CurrentStream(), bottom[0]->count(), bottom[0]->gpu_data(),
                            TargetsOf(*bottom[1], this->ignored()), top[0]->gpu_diff(),
                            this->gpu_normalizer_.gpu_data(),
                            bottom[0]->template overwrite_gpu_diff_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FUNCS(SigmoidCrossEntropyLossLayer);

}  // namespace caffe
