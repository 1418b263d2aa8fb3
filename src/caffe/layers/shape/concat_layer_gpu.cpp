#include "caffe/layers/concat_layer.hpp"
#include "on_gpu.hpp"

namespace caffe {

template <typename Dtype>
void ConcatLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  by_onednn_ = false;
  if (bottom.size() == 1) return;  // the top is the bottom
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const PlainRows rows(concat_axis_, concat_axis_ == 1 && cuda::AnyChannelsLast<T>(bottom));
    JoinRows<OnGpu, T>(rows, Side::DATA, bottom, *top[0]);
  });
}

template <typename Dtype>
void ConcatLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    const PlainRows rows(concat_axis_, concat_axis_ == 1 && cuda::AnyChannelsLast<T>(top));
    CutRows<OnGpu, decltype(diff_tag)>(rows, Side::DIFF, *top[0], propagate_down, bottom);
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ConcatLayer);

}  // namespace caffe
