#include "caffe/layers/conv_layer.hpp"

namespace caffe {

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(),
           [&](auto tag) { this->template ForwardAllGpu<decltype(tag)>(bottom, top); });
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
