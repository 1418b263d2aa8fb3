#include "caffe/layers/slice_layer.hpp"
#include "on_gpu.hpp"

namespace caffe {

template <typename Dtype>
void SliceLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const PlainRows rows(slice_axis_, slice_axis_ == 1 && cuda::AnyChannelsLast<T>(bottom));
    CutRows<OnGpu, T>(rows, Side::DATA, *bottom[0], vector<bool>(top.size(), true), top);
  });
}

template <typename Dtype>
void SliceLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    const PlainRows rows(slice_axis_, slice_axis_ == 1 && cuda::AnyChannelsLast<T>(bottom));
    JoinRows<OnGpu, decltype(diff_tag)>(rows, Side::DIFF, top, *bottom[0]);
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(SliceLayer);

}  // namespace caffe
