#include "caffe/layers/mvn_layer.hpp"

#include "caffe/kernels/normalize.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {
namespace {

const bool mvn_registered = OperationTable::Add(Operation("MVN")
                                                    .Shapes(SameShapes)
                                                    .InPlace()
                                                    .BackwardReads(Operation::kTopData)
                                                    .Native()
                                                    .QuantizableInIntegers());

}  // namespace

template <typename Dtype>
void MVNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  const Shape& shape = bottom[0]->shape();
  const size_t row_axes = this->layer_param_.mvn_param().across_channels() ? 1 : 2;
  rows_ = CountOf(shape, 0, std::min(row_axes, shape.size()));
  length_ = CountOf(shape, std::min(row_axes, shape.size()), shape.size());
  const bool divides = this->layer_param_.mvn_param().normalize_variance();
  deviation_.Reshape({divides ? static_cast<int>(rows_) : 0});
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
void MVNLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const MVNParameter& param = this->layer_param_.mvn_param();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    kernels::Standardize(rows_, length_, param.eps(), x,
                         top[0]->template overwrite_cpu_data_as<T>(),
                         param.normalize_variance() ? deviation_.mutable_cpu_data() : nullptr);
  });
}

template <typename Dtype>
void MVNLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const MVNParameter& param = this->layer_param_.mvn_param();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    kernels::StandardizeGradient(rows_, length_, param.eps(), top[0]->template cpu_data_as<T>(),
                                 param.normalize_variance() ? deviation_.cpu_data() : nullptr, dy,
                                 bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(MVNLayer);
REGISTER_LAYER_CLASS(MVN);

}  // namespace caffe
