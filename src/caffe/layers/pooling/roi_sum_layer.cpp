#include "caffe/layers/roi_sum_layer.hpp"

#include "caffe/kernels/roi_pooling.hpp"

namespace caffe {

template <typename Dtype>
void RoiSumLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const vector<kernels::RoiBins> bins = this->Bins(*bottom[1]);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::RoiSumForward(*this->shape_, bins, position_sensitive_,
                           bottom[0]->template cpu_data_as<T>(),
                           top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void RoiSumLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const vector<kernels::RoiBins> bins = this->Bins(*bottom[1]);
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    kernels::RoiSumBackward(*this->shape_, bins, position_sensitive_,
                            top[0]->template cpu_diff_as<D>(),
                            bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(RoiSumLayer);

}  // namespace caffe
