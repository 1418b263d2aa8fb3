#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/losses.hpp"
#include "caffe/layers/contrastive_loss_layer.hpp"

namespace caffe {

namespace {

template <typename Dtype>
cuda::Pairs<Dtype> PairsOf(const LayerParameter& layer, const vector<Blob<Dtype>*>& bottom) {
  const ContrastiveLossParameter& param = layer.contrastive_loss_param();
  return {bottom[0]->shape(0), bottom[0]->count(1), bottom[2]->gpu_data(),
          static_cast<Dtype>(param.margin()), param.legacy_version()};
}

}  // namespace

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  cuda::ContrastiveLoss(cuda::CurrentStream(), PairsOf(this->layer_param_, bottom),
                        bottom[0]->gpu_data(), bottom[1]->gpu_data(),
                        diff_.template overwrite_gpu_data_as<Dtype>(),
                        dist_sq_.template overwrite_gpu_data_as<Dtype>(),
                        top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  const auto gradient = [&](int i) {
    return propagate_down[i] ? bottom[i]->template overwrite_gpu_diff_as<Dtype>() : nullptr;
  };
  cuda::ContrastiveLossGradient(cuda::CurrentStream(), PairsOf(this->layer_param_, bottom),
                                diff_.gpu_data(), dist_sq_.gpu_data(), top[0]->gpu_diff(),
                                gradient(0), gradient(1));
}

INSTANTIATE_LAYER_GPU_FUNCS(ContrastiveLossLayer);

}  // namespace caffe
