#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/bias_layer.hpp"

namespace caffe {

template <typename Dtype>
void BiasLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::ChannelAffine<T>(cuda::CurrentStream(), outer_dim_, bias_dim_, inner_dim_, nullptr,
                           Bias(bottom).template gpu_data_as<AccumulatorType<T>>(), x,
                           top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void BiasLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  const bool own = bottom.size() == 1;
  const bool bias_wanted = own ? bool(this->param_propagate_down_[0]) : propagate_down[1];
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    if (bias_wanted && own) {
      cuda::AddChannelSums(stream, outer_dim_, bias_dim_, inner_dim_, dy,
                           this->blobs_[0]->template mutable_gpu_diff_as<AccumulatorType<D>>());
    } else if (bias_wanted) {
      const cuda::Buffer<double> sums(stream, bias_dim_);
      cuda::ChannelSums<D, D>(stream, outer_dim_, bias_dim_, inner_dim_, dy, nullptr, sums.get(),
                              nullptr);
      cuda::Convert(stream, bias_dim_, static_cast<const double*>(sums.get()),
                    bottom[1]->template overwrite_gpu_diff_as<D>());
    }
    if (propagate_down[0] && bottom[0] != top[0]) {
      cuda::Convert(stream, top[0]->count(), dy, bottom[0]->template overwrite_gpu_diff_as<D>());
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(BiasLayer);

}  // namespace caffe
