#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/embed.hpp"
#include "caffe/layers/embed_layer.hpp"

namespace caffe {

template <typename Dtype>
void EmbedLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* bias = bias_term_ ? this->blobs_[1]->template gpu_data_as<T>() : nullptr;
    cuda::LookUp(cuda::CurrentStream(), M_, K_, N_, bottom[0]->gpu_data(),
                 this->blobs_[0]->template gpu_data_as<T>(), bias,
                 top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void EmbedLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[0], "Embed has no gradient for its indices");
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template gpu_diff_as<D>();
    if (this->param_propagate_down_[0]) {
      cuda::LookUpGradient(stream, M_, K_, N_, bottom[0]->gpu_data(), dy,
                           this->blobs_[0]->template mutable_gpu_diff_as<G>());
    }
    if (bias_term_ && this->param_propagate_down_[1]) {
      cuda::AddChannelSums(stream, M_, N_, 1, dy,
                           this->blobs_[1]->template mutable_gpu_diff_as<G>());
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(EmbedLayer);

}  // namespace caffe
