#include "caffe/cuda/as_stored.hpp"
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
    const Layout layout = cuda::ChannelLayout<T>(*bottom[0], outer_dim_, bias_dim_);
    const cuda::ChannelExtents e = cuda::ExtentsIn(layout, outer_dim_, bias_dim_, inner_dim_);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    cuda::ChannelAffine<T>(cuda::CurrentStream(), e.outer, e.channels, e.inner, nullptr,
                           Bias(bottom).template gpu_data_as<AccumulatorType<T>>(), x,
                           cuda::OverwriteData<T>(layout, top[0]));
  });
}

template <typename Dtype>
void BiasLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  const bool own = bottom.size() == 1;
  const bool bias_wanted = own ? bool(this->param_propagate_down_[0]) : propagate_down[1];
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = cuda::ChannelLayout<T>(*top[0], outer_dim_, bias_dim_);
    const cuda::ChannelExtents e = cuda::ExtentsIn(layout, outer_dim_, bias_dim_, inner_dim_);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    if (bias_wanted && own) {
      cuda::AddChannelSums(stream, e.outer, e.channels, e.inner, dy,
                           this->blobs_[0]->template mutable_gpu_diff_as<AccumulatorType<D>>());
    } else if (bias_wanted) {
      const cuda::Buffer<double> sums(stream, bias_dim_);
      cuda::ChannelSums<D, D>(stream, e.outer, e.channels, e.inner, dy, nullptr, sums.get(),
                              nullptr);
      cuda::Convert(stream, bias_dim_, static_cast<const double*>(sums.get()),
                    bottom[1]->template overwrite_gpu_diff_as<D>());
    }
    if (propagate_down[0] && bottom[0] != top[0]) {
      cuda::Convert(stream, top[0]->count(), dy, cuda::OverwriteDiff<D>(layout, bottom[0]));
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(BiasLayer);

}  // namespace caffe
