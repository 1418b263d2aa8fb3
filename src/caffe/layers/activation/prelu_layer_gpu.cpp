#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/activation.hpp"
#include "caffe/layers/prelu_layer.hpp"

namespace caffe {

template <typename Dtype>
void PReLULayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  if (bottom[0] == top[0] && this->keeps_for_backward()) {
    bottom_memory_.ReshapeLike(*bottom[0]);
    bottom_memory_.CopyFrom(*bottom[0]);
  }
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = cuda::ChannelLayout<T>(*bottom[0], outer_, channels_);
    const cuda::ChannelExtents e = cuda::ExtentsIn(layout, outer_, channels_, inner_);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    cuda::PRelu(cuda::CurrentStream(), e.outer, e.channels, e.inner,
                this->blobs_[0]->template gpu_data_as<AccumulatorType<T>>(), x,
                cuda::OverwriteData<T>(layout, top[0]));
  });
}

template <typename Dtype>
void PReLULayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  const bool slopes_wanted = this->param_propagate_down_[0];
  if (!slopes_wanted && !propagate_down[0]) return;
  // Gradients in the TEST phase and in place, which hardly anybody asks for.
  if (InputIsLost(*bottom[0], *top[0])) return Backward_cpu(top, propagate_down, bottom);
  const Blob<Dtype>& input = bottom[0] == top[0] ? bottom_memory_ : *bottom[0];
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const Layout layout = cuda::ChannelLayout<T>(input, outer_, channels_);
    const cuda::ChannelExtents e = cuda::ExtentsIn(layout, outer_, channels_, inner_);
    const T* x = cuda::ReadData<T>(input, layout);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    if (slopes_wanted) {
      cuda::PReluSlopeGradient(stream, e.outer, e.channels, e.inner, x, dy,
                               this->blobs_[0]->template mutable_gpu_diff_as<G>());
    }
    if (propagate_down[0]) {
      cuda::PReluGradient(stream, e.outer, e.channels, e.inner,
                          this->blobs_[0]->template gpu_data_as<G>(), x, dy,
                          cuda::OverwriteDiff<D>(layout, bottom[0]));
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(PReLULayer);

}  // namespace caffe
