#include <typeinfo>

#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/softmax.hpp"
#include "caffe/layers/softmax_loss_layer.hpp"
#include "gpu_labels.hpp"

namespace caffe {

template <typename Dtype>
cuda::SoftmaxTargets<Dtype> SoftmaxWithLossLayer<Dtype>::GpuTargets(
    const vector<Blob<Dtype>*>& bottom) {
  const int weights = static_cast<int>(class_weights_.size());
  if (gpu_class_weights_.count() != weights) {
    gpu_class_weights_.Reshape({weights});
    std::copy(class_weights_.begin(), class_weights_.end(), gpu_class_weights_.mutable_cpu_data());
  }
  return {GpuLabels(*bottom[1], bottom[0]->shape(softmax_axis_), this->ignored()),
          weights > 0 ? gpu_class_weights_.gpu_data() : nullptr, label_smoothing_};
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  const int classes = bottom[0]->shape(softmax_axis_);
  const cuda::SoftmaxTargets<Dtype> targets = GpuTargets(bottom);
  Dtype* normalizer = this->OverwriteGpuNormalizer();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::SoftmaxLoss(stream, this->outer_num_, classes, this->inner_num_, x, targets,
                      this->GpuDivisor(), top[0]->template overwrite_gpu_data_as<Dtype>(),
                      normalizer);
    if (top.size() > 1) {
      cuda::Softmax(stream, this->outer_num_, classes, this->inner_num_, x,
                    top[1]->template overwrite_gpu_data_as<T>());
    }
    if (typeid(*this) != typeid(SoftmaxWithLossLayer)) {
      cuda::Softmax(stream, this->outer_num_, classes, this->inner_num_, x,
                    prob_.template overwrite_gpu_data_as<T>());
    }
  });
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  if (!propagate_down[0]) return;
  const cuda::SoftmaxTargets<Dtype> targets = GpuTargets(bottom);
  const Dtype* weight = top[0]->gpu_diff();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::SoftmaxLossGradient(cuda::CurrentStream(), this->outer_num_,
                              bottom[0]->shape(softmax_axis_), this->inner_num_, x, targets, weight,
                              this->gpu_normalizer_.gpu_data(),
                              bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(SoftmaxWithLossLayer);

}  // namespace caffe
