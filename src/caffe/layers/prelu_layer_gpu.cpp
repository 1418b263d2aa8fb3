#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/activation.hpp"
#include "caffe/layers/prelu_layer.hpp"

namespace caffe {

template <typename Dtype>
void PReLULayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  if (bottom[0] == top[0] && this->phase_ == TRAIN) {
    bottom_memory_.ReshapeLike(*bottom[0]);
    bottom_memory_.CopyFrom(*bottom[0]);
  }
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::PRelu(cuda::CurrentStream(), static_cast<int>(outer_), static_cast<int>(channels_),
                static_cast<int>(inner_),
                this->blobs_[0]->template gpu_data_as<AccumulatorType<T>>(), x,
                top[0]->template overwrite_gpu_data_as<T>());
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
  const int outer = static_cast<int>(outer_), channels = static_cast<int>(channels_),
            inner = static_cast<int>(inner_);
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const T* x = input.template gpu_data_as<T>();
    const D* dy = top[0]->template gpu_diff_as<D>();
    if (slopes_wanted) {
      cuda::PReluSlopeGradient(stream, outer, channels, inner, x, dy,
                               this->blobs_[0]->template mutable_gpu_diff_as<G>());
    }
    if (propagate_down[0]) {
      cuda::PReluGradient(stream, outer, channels, inner,
                          this->blobs_[0]->template gpu_data_as<G>(), x, dy,
                          bottom[0]->template overwrite_gpu_diff_as<D>());
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(PReLULayer);

}  // namespace caffe
