#include "caffe/cuda/converted.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/layers/deconv_layer.hpp"

namespace caffe {

template <typename Dtype>
void DeconvolutionLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* weights = this->blobs_[0]->template gpu_data_as<T>();
    const F* bias = this->bias_term_ ? this->blobs_[1]->template gpu_data_as<F>() : nullptr;
    for (size_t i = 0; i < bottom.size(); ++i) {
      const T* x = bottom[i]->template gpu_data_as<T>();
      cuda::ConvolutionBackwardData(cuda::CurrentStream(), this->shape_, this->num_,
                                    this->gpu_options(), x, weights, bias,
                                    top[i]->template overwrite_gpu_data_as<T>());
    }
  });
}

// Seen from the convolution, the top's gradient is the input and the bottom the output.
template <typename Dtype>
template <typename T, typename D>
void DeconvolutionLayer<Dtype>::BackwardOneGpu(const Blob<Dtype>& top, bool propagate_down,
                                               Blob<Dtype>* bottom) {
  using P = cuda::ProductType<T, D>;
  Stream& stream = cuda::CurrentStream();
  this->template BiasGradientGpu<D>(top);
  const cuda::ReadAsType<P, D> dy(stream, top.count(), top.template gpu_diff_as<D>());
  if (this->param_propagate_down_[0]) {
    const cuda::ReadAsType<P, T> x(stream, bottom->count(), bottom->template gpu_data_as<T>());
    cuda::ConvolutionBackwardWeights(
        stream, this->shape_, this->num_, this->gpu_options(), dy.get(), x.get(),
        this->blobs_[0]->template mutable_gpu_diff_as<AccumulatorType<P>>());
  }
  if (!propagate_down) return;
  const Blob<Dtype>& blob = *this->blobs_[0];
  const cuda::ReadAsType<P, T> weights(stream, blob.count(), blob.template gpu_data_as<T>());
  cuda::WriteAsType<P, D> dx(stream, bottom->count(), bottom->template overwrite_gpu_diff_as<D>());
  cuda::ConvolutionForward<P>(stream, this->shape_, this->num_, this->gpu_options(), dy.get(),
                              weights.get(), nullptr, dx.get());
  dx.Finish();
}

template <typename Dtype>
void DeconvolutionLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    for (size_t i = 0; i < top.size(); ++i) {
      this->template BackwardOneGpu<decltype(data_tag), decltype(diff_tag)>(
          *top[i], propagate_down[i], bottom[i]);
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(DeconvolutionLayer);

}  // namespace caffe
