#include "caffe/layers/softmax_layer.hpp"

#include "caffe/kernels/softmax.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {
namespace {

const bool registered = OperationTable::Add(
    Operation("Softmax").Shapes(SameShapes).InPlace().BackwardReads(Operation::kTopData).Native());

}  // namespace

template <typename Dtype>
void SoftmaxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  softmax_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.softmax_param().axis());
  top[0]->ReshapeLike(*bottom[0]);
  outer_num_ = bottom[0]->count(0, softmax_axis_);
  inner_num_ = bottom[0]->count(softmax_axis_ + 1);
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    kernels::Softmax(outer_num_, bottom[0]->shape(softmax_axis_), inner_num_, x,
                     top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    kernels::SoftmaxGradient(outer_num_, top[0]->shape(softmax_axis_), inner_num_,
                             top[0]->template cpu_data_as<T>(), dy,
                             bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(SoftmaxLayer);
REGISTER_LAYER_CLASS(Softmax);

}  // namespace caffe
