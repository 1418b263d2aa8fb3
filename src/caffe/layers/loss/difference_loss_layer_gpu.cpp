#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/losses.hpp"
#include "caffe/layers/difference_loss_layer.hpp"
#include "caffe/layers/euclidean_loss_layer.hpp"
#include "caffe/layers/l1_loss_layer.hpp"
#include "caffe/layers/smooth_L1_loss_layer.hpp"

namespace caffe {

template <typename Dtype>
void DifferenceLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const Dtype* inside = bottom.size() > 2 ? bottom[2]->gpu_data() : nullptr;
  const Dtype* outside = bottom.size() > 3 ? bottom[3]->gpu_data() : nullptr;
  cuda::DifferenceLoss(cuda::CurrentStream(), bottom[0]->count(), gpu_penalty(),
                       Normalizer(*bottom[0]), bottom[0]->gpu_data(), bottom[1]->gpu_data(), inside,
                       outside, diff_.template overwrite_gpu_data_as<Dtype>(),
                       top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void DifferenceLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0] && !propagate_down[1]) return;
  const Dtype* inside = bottom.size() > 2 ? bottom[2]->gpu_data() : nullptr;
  const Dtype* outside = bottom.size() > 3 ? bottom[3]->gpu_data() : nullptr;
  const auto gradient = [&](int i) {
    return propagate_down[i] ? bottom[i]->template overwrite_gpu_diff_as<Dtype>() : nullptr;
  };
  cuda::DifferenceLossGradient(cuda::CurrentStream(), bottom[0]->count(), gpu_penalty(),
                               Normalizer(*bottom[0]), diff_.gpu_data(), inside, outside,
                               top[0]->gpu_diff(), gradient(0), gradient(1));
}

INSTANTIATE_LAYER_GPU_FUNCS(DifferenceLossLayer);

template <typename Dtype>
cuda::Penalty EuclideanLossLayer<Dtype>::gpu_penalty() const {
  return {cuda::Penalty::SQUARE};
}
template <typename Dtype>
cuda::Penalty L1LossLayer<Dtype>::gpu_penalty() const {
  return {cuda::Penalty::ABSOLUTE};
}
template <typename Dtype>
cuda::Penalty SmoothL1LossLayer<Dtype>::gpu_penalty() const {
  return {cuda::Penalty::SMOOTH, sigma2_};
}
template cuda::Penalty EuclideanLossLayer<float>::gpu_penalty() const;
template cuda::Penalty EuclideanLossLayer<double>::gpu_penalty() const;
template cuda::Penalty L1LossLayer<float>::gpu_penalty() const;
template cuda::Penalty L1LossLayer<double>::gpu_penalty() const;
template cuda::Penalty SmoothL1LossLayer<float>::gpu_penalty() const;
template cuda::Penalty SmoothL1LossLayer<double>::gpu_penalty() const;

}  // namespace caffe
