#include "caffe/layers/relu_layer.hpp"

#include "caffe/kernels/elementwise.hpp"

namespace caffe {
namespace {

const bool registered = OperationTable::Add(Operation("ReLU")
                                                .Shapes(SameShapes)
                                                .InPlace()
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Homogeneous()
                                                .Quantizable());

}  // namespace

template <typename Dtype>
void ReLULayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    kernels::Relu<T>(bottom[0]->count(), slope, x, top[0]->template overwrite_cpu_data_as<T>());
  });
}

// In place, x is y here: the sign of y is that of x as long as the slope is not negative.
template <typename Dtype>
void ReLULayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    kernels::ReluGradient<T, D>(bottom[0]->count(), slope, bottom[0]->template cpu_data_as<T>(), dy,
                                bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(ReLULayer);
REGISTER_LAYER_CLASS(ReLU);

}  // namespace caffe
