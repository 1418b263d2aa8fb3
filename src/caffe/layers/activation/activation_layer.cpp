#include "caffe/layers/activation_layer.hpp"

#include "caffe/core/own_operation.hpp"
#include "caffe/core/pointwise.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "caffe/layers/kept_for_backward.hpp"
#include "caffe/layers/onednn_unary.hpp"

namespace caffe {

using Argument = kernels::Activation::Argument;

namespace {

/// Measured by benchmarks/engines: 2.6 times and more backward, 11 times forward.
bool OneDnnIsFaster(const kernels::Activation& f) { return f.kind == kernels::Activation::ELU; }

}  // namespace

template <typename Dtype>
void ActivationLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  function_ = std::make_shared<const kernels::Activation>(
      OwnOperation(operation_).activation(this->layer_param_));
}

// Padding is 0, which ReLU leaves as it is.
template <typename Dtype>
template <typename T>
Layout ActivationLayer<Dtype>::LayoutOf(const Tensor& tensor, const Shape& shape) const {
  const bool may_be_padded = function_->kind == kernels::Activation::RELU;
  return may_be_padded ? LayoutFor<T>(tensor, shape) : UnpaddedLayoutFor<T>(tensor, shape);
}

template <typename Dtype>
bool ActivationLayer<Dtype>::MustKeep(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const {
  return &bottom == &top && this->keeps_for_backward() &&
         function_->GradientArgument() == Argument::INPUT;
}

template <typename Dtype>
template <typename T>
void ActivationLayer<Dtype>::Keep(const Blob<Dtype>& bottom, const Layout& layout) {
  KeepAs<T>(bottom, layout, &kept_);
}

template <typename Dtype>
bool ActivationLayer<Dtype>::ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), OneDnnIsFaster(*function_))) return false;
  const Layout layout = LayoutFor<float>(bottom.data_tensor(), bottom.shape());
  if (MustKeep(bottom, *top)) Keep<float>(bottom, layout);
  if (!onednn_) onednn_ = std::make_shared<onednn::Unary<onednn::Activation>>();
  return onednn_->Forward(bottom, layout, top, [&] {
    return onednn::Activation::Make(*function_, bottom.count(), layout, this->phase_ == TRAIN);
  });
}

template <typename Dtype>
void ActivationLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  by_onednn_ = ForwardOneDnn(*bottom[0], top[0]);
  if (by_onednn_) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = LayoutOf<T>(bottom[0]->data_tensor(), bottom[0]->shape());
    if (MustKeep(*bottom[0], *top[0])) Keep<T>(*bottom[0], layout);
    const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
    kernels::Activate(*function_, layout.extent(bottom[0]->count()), x,
                      OverwriteAs<T>(top[0]->data_tensor(), layout));
  });
}

template <typename Dtype>
const Blob<Dtype>& ActivationLayer<Dtype>::GradientArgument(const Blob<Dtype>& bottom,
                                                            const Blob<Dtype>& top) const {
  if (function_->GradientArgument() == Argument::OUTPUT) return top;
  if (function_->GradientArgument() == Argument::EITHER || &bottom != &top) return bottom;
  Require(kept_.shape() == bottom.shape(), this->type(),
          " in place has not kept what its gradient needs", RemedyToKeep());
  return kept_;
}

template <typename Dtype>
void ActivationLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Blob<Dtype>& argument = GradientArgument(*bottom[0], *top[0]);
  if (by_onednn_ && this->phase_ == TRAIN) return onednn_->Backward(argument, *top[0], bottom[0]);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    Layout layout = GradientLayout<T, D>(argument, top[0]->diff_tensor());
    if (layout.kind == Layout::CHANNELS_BLOCKED) {
      layout = LayoutOf<D>(top[0]->diff_tensor(), top[0]->shape());
    }
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    kernels::ActivateGradient(*function_, layout.extent(bottom[0]->count()),
                              ReadAs<T>(argument.data_tensor(), layout), dy,
                              OverwriteAs<D>(bottom[0]->diff_tensor(), layout));
  });
}

template <typename Dtype>
bool ActivationLayer<Dtype>::DescribePointwise(Pointwise* description) {
  const auto fused = kernels::AsPostOp(*function_);
  const auto is = [&](kernels::Activation::Kind kind) { return fused && fused->kind == kind; };
  if (!is(kernels::Activation::RELU) && !is(kernels::Activation::CLIP)) return false;
  description->activation = *fused;
  return true;
}

INSTANTIATE_CLASS(ActivationLayer);

}  // namespace caffe
