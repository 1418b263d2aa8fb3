#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/normalize.hpp"
#include "caffe/layers/normalize_layer.hpp"

namespace caffe {

template <typename Dtype>
void NormalizeLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    cuda::ChannelScale<AccumulatorType<T>> scale;
    if (has_scale_) {
      scale = {this->blobs_[0]->template gpu_data_as<AccumulatorType<T>>(), channel_shared_};
    }
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::Normalize(cuda::CurrentStream(), *shape_, scale, x,
                    top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void NormalizeLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  const bool scale_wanted = has_scale_ && this->param_propagate_down_[0];
  if (!scale_wanted && !propagate_down[0]) return;
  if (shape_->fixed_norm) return Backward_cpu(top, propagate_down, bottom);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    cuda::ChannelScale<G> scale;
    if (has_scale_) scale = {this->blobs_[0]->template gpu_data_as<G>(), channel_shared_};
    const T* x = bottom[0]->template gpu_data_as<T>();
    const D* dy = top[0]->template gpu_diff_as<D>();
    D* dx = propagate_down[0] ? bottom[0]->template overwrite_gpu_diff_as<D>() : nullptr;
    cuda::NormalizeGradient(
        cuda::CurrentStream(), *shape_, scale, x, dy, dx,
        scale_wanted ? this->blobs_[0]->template mutable_gpu_diff_as<G>() : nullptr);
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(NormalizeLayer);

}  // namespace caffe
