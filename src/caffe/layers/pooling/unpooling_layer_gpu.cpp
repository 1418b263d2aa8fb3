#include "caffe/cuda/stream.hpp"
#include "caffe/layers/unpooling_layer.hpp"
#include "unpooling.hpp"

namespace caffe {

template <typename Dtype>
void UnPoolingLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(),
           [&](auto tag) { UnpoolOnGpu<decltype(tag)>(*bottom[0], *bottom[1], top[0]); });
}

template <typename Dtype>
void UnPoolingLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(),
           [&](auto tag) { UnpoolGradientOnGpu<decltype(tag)>(*top[0], *bottom[1], bottom[0]); });
}

INSTANTIATE_LAYER_GPU_FUNCS(UnPoolingLayer);

}  // namespace caffe
