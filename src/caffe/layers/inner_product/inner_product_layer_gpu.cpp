#include "caffe/cuda/converted.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/layers/inner_product_layer.hpp"

namespace caffe {

template <typename Dtype>
void InnerProductLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* x = bottom[0]->template gpu_data_as<T>();
    const T* weights = this->blobs_[0]->template gpu_data_as<T>();
    T* y = top[0]->template overwrite_gpu_data_as<T>();
    cuda::Gemm<T, T>(stream, false, !transpose_, M_, N_, K_, F(1), x, weights, F(0), y);
    if (!bias_term_) return;
    cuda::ChannelAffine<T>(stream, M_, N_, 1, nullptr, this->blobs_[1]->template gpu_data_as<F>(),
                           y, y);
  });
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    using P = cuda::ProductType<T, D>;
    const D* above = top[0]->template gpu_diff_as<D>();
    if (bias_term_ && this->param_propagate_down_[1]) {
      cuda::AddChannelSums(stream, M_, N_, 1, above,
                           this->blobs_[1]->template mutable_gpu_diff_as<G>());
    }
    const cuda::ReadAsType<P, D> dy(stream, top[0]->count(), above);
    if (this->param_propagate_down_[0]) {
      const cuda::ReadAsType<P, T> x(stream, bottom[0]->count(),
                                     bottom[0]->template gpu_data_as<T>());
      G* d_weights = this->blobs_[0]->template mutable_gpu_diff_as<G>();
      if (transpose_) {
        cuda::Gemm<P, G>(stream, true, false, K_, N_, M_, G(1), x.get(), dy.get(), G(1), d_weights);
      } else {
        cuda::Gemm<P, G>(stream, true, false, N_, K_, M_, G(1), dy.get(), x.get(), G(1), d_weights);
      }
    }
    if (!propagate_down[0]) return;
    const cuda::ReadAsType<P, T> weights(stream, this->blobs_[0]->count(),
                                         this->blobs_[0]->template gpu_data_as<T>());
    cuda::WriteAsType<P, D> dx(stream, bottom[0]->count(),
                               bottom[0]->template overwrite_gpu_diff_as<D>());
    cuda::Gemm<P, P>(stream, false, transpose_, M_, K_, N_, G(1), dy.get(), weights.get(), G(0),
                     dx.get());
    dx.Finish();
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(InnerProductLayer);

}  // namespace caffe
