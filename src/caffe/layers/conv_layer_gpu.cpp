#include "caffe/cuda/stream.hpp"
#include "caffe/layers/conv_layer.hpp"

namespace caffe {

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* weights = this->blobs_[0]->template gpu_data_as<T>();
    const F* bias = this->bias_term_ ? this->blobs_[1]->template gpu_data_as<F>() : nullptr;
    for (size_t i = 0; i < bottom.size(); ++i) {
      const T* x = bottom[i]->template gpu_data_as<T>();
      cuda::ConvolutionForward(cuda::CurrentStream(), this->shape_, this->num_, this->gpu_options(),
                               x, weights, bias, top[i]->template overwrite_gpu_data_as<T>());
    }
  });
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    for (size_t i = 0; i < top.size(); ++i) {
      this->template BackwardOneGpu<decltype(data_tag), decltype(diff_tag)>(
          *top[i], propagate_down[i], bottom[i]);
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ConvolutionLayer);

}  // namespace caffe
