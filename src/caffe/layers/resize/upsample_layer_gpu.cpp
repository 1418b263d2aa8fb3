#include "caffe/cuda/stream.hpp"
#include "caffe/layers/pooling/unpooling.hpp"
#include "caffe/layers/upsample_layer.hpp"

namespace caffe {

template <typename Dtype>
void UpsampleLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  if (bottom.size() == 1) return ResizeLayer<Dtype>::Forward_gpu(bottom, top);
  Dispatch(this->forward_type(),
           [&](auto tag) { UnpoolOnGpu<decltype(tag)>(*bottom[0], *bottom[1], top[0]); });
}

template <typename Dtype>
void UpsampleLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return ResizeLayer<Dtype>::Backward_gpu(top, propagate_down, bottom);
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(),
           [&](auto tag) { UnpoolGradientOnGpu<decltype(tag)>(*top[0], *bottom[1], bottom[0]); });
}

INSTANTIATE_LAYER_GPU_FUNCS(UpsampleLayer);

}  // namespace caffe
