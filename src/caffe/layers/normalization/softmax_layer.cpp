#include "caffe/layers/softmax_layer.hpp"

#include "caffe/kernels/reference.hpp"
#include "caffe/kernels/softmax.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/layers/onednn_unary.hpp"

namespace caffe {
namespace {

const bool softmax_registered = OperationTable::Add(Operation("Softmax")
                                                        .Within(0, 1)
                                                        .Shapes(SameShapes)
                                                        .InPlace()
                                                        .BackwardReads(Operation::kTopData)
                                                        .Native());

/// Measured by benchmarks/engines: for many values of one softmax that lie together, and in blocks.
bool OneDnnIsFaster(int channels, int inner, const Layout& layout) {
  return (inner == 1 && channels > 128) || layout.kind == Layout::CHANNELS_BLOCKED;
}

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
bool SoftmaxLayer<Dtype>::ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  const Layout layout =
      softmax_axis_ == 1 ? BlockedLayoutFor<float>(bottom.data_tensor(), bottom.shape()) : Layout();
  const bool faster = OneDnnIsFaster(bottom.shape(softmax_axis_), inner_num_, layout);
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), faster)) return false;
  if (!onednn_) onednn_ = std::make_shared<onednn::Unary<onednn::Softmax>>();
  return onednn_->Forward(bottom, layout, top, [&] {
    return onednn::Softmax::Make(outer_num_, bottom.shape(softmax_axis_), inner_num_,
                                 this->phase_ == TRAIN, layout);
  });
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  by_onednn_ = ForwardOneDnn(*bottom[0], top[0]);
  if (by_onednn_) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    const auto softmax =
        engine_ == Engine::REFERENCE ? kernels::ReferenceSoftmax<T> : kernels::Softmax<T, T>;
    softmax(outer_num_, bottom[0]->shape(softmax_axis_), inner_num_, x,
            top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (by_onednn_ && this->phase_ == TRAIN) return onednn_->Backward(*top[0], *top[0], bottom[0]);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    const auto gradient = engine_ == Engine::REFERENCE ? kernels::ReferenceSoftmaxBackward<T, D>
                                                       : kernels::SoftmaxGradient<T, D>;
    gradient(outer_num_, top[0]->shape(softmax_axis_), inner_num_,
             top[0]->template cpu_data_as<T>(), dy, bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(SoftmaxLayer);
REGISTER_LAYER_CLASS(Softmax);

}  // namespace caffe
