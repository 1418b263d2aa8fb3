#include "caffe/layers/lrn_layer.hpp"

#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/layers/channel_order.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/layers/onednn_unary.hpp"

namespace caffe {
namespace {

const bool lrn_registered = OperationTable::Add(Operation("LRN")
                                                    .Shapes(SameShapes)
                                                    .BackwardReads(Operation::kBottomData)
                                                    .Native()
                                                    .QuantizableInIntegers());

bool WithinChannel(const LRNParameter& param) {
  return param.norm_region() == LRNParameter_NormRegion_WITHIN_CHANNEL;
}

}  // namespace

template <typename Dtype>
void LRNLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const LRNParameter& param = this->layer_param_.lrn_param();
  size_ = param.local_size();
  Require(size_ > 0 && size_ % 2 == 1, Error::Field{"lrn_param"},
          ": local_size must be odd and positive, got ", size_);
  pre_pad_ = (size_ - 1) / 2;
  alpha_ = param.alpha();
  beta_ = param.beta();
  // Within a channel the constant is 1, whatever the file says: as in Caffe.
  k_ = WithinChannel(param) ? Dtype(1) : Dtype(param.k());
}

template <typename Dtype>
void LRNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  Require(bottom[0]->num_axes() == 4, "LRN takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom[0]->shape()));
  num_ = bottom[0]->num();
  channels_ = bottom[0]->channels();
  height_ = bottom[0]->height();
  width_ = bottom[0]->width();
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
kernels::LrnShape LRNLayer<Dtype>::ShapeNow() const {
  return {num_,   channels_, height_, width_, size_, WithinChannel(this->layer_param_.lrn_param()),
          alpha_, beta_,     k_};
}

template <typename Dtype>
bool LRNLayer<Dtype>::ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), true) ||
      WithinChannel(this->layer_param_.lrn_param())) {
    return false;
  }
  const Layout layout = LayoutFor<float>(bottom.data_tensor(), bottom.shape());
  if (!onednn_) onednn_ = std::make_shared<onednn::Unary<onednn::Lrn>>();
  return onednn_->Forward(bottom, layout, top, [&] {
    return onednn::Lrn::Make(num_, channels_, height_, width_, size_, alpha_, beta_, k_,
                             this->phase_ == TRAIN, layout);
  });
}

// Across channels a blob is read where it lies; windows within a channel are computed in Caffe's
// order.
template <typename Dtype>
template <typename T>
Layout LRNLayer<Dtype>::LayoutOf(const Blob<Dtype>& blob) const {
  const bool able = !WithinChannel(this->layer_param_.lrn_param()) && engine_ != Engine::REFERENCE;
  return able ? OrderedLayout<T>(blob, num_, channels_) : Layout();
}

template <typename Dtype>
void LRNLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  by_onednn_ = ForwardOneDnn(*bottom[0], top[0]);
  if (by_onednn_) return;
  const kernels::LrnShape shape = ShapeNow();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same<T, double>::value) {
      const Layout layout = LayoutOf<T>(*bottom[0]);
      if (layout.kind != Layout::PLAIN) {
        const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
        T* y = OverwriteAs<T>(top[0]->data_tensor(), layout);
        return layout.kind == Layout::CHANNELS_LAST
                   ? kernels::PixelLrnForward(shape, x, y)
                   : kernels::BlockedLrnForward(shape, layout.block, x, y);
      }
    }
    const auto forward =
        engine_ == Engine::REFERENCE ? kernels::ReferenceLrn<T> : kernels::LrnForward<T>;
    forward(shape, bottom[0]->template cpu_data_as<T>(),
            top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void LRNLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (by_onednn_ && this->phase_ == TRAIN) return onednn_->Backward(*bottom[0], *top[0], bottom[0]);
  const kernels::LrnShape shape = ShapeNow();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    if constexpr (!std::is_same<T, double>::value) {
      const Layout layout = LayoutOf<T>(*bottom[0]);
      if (layout.kind != Layout::PLAIN) {
        const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
        const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
        D* dx = OverwriteAs<D>(bottom[0]->diff_tensor(), layout);
        return layout.kind == Layout::CHANNELS_LAST
                   ? kernels::PixelLrnBackward(shape, x, dy, dx)
                   : kernels::BlockedLrnBackward(shape, layout.block, x, dy, dx);
      }
    }
    const D* dy = top[0]->template cpu_diff_as<D>();
    const auto backward = engine_ == Engine::REFERENCE ? kernels::ReferenceLrnBackward<T, D>
                                                       : kernels::LrnBackward<T, D>;
    backward(shape, bottom[0]->template cpu_data_as<T>(), dy,
             bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(LRNLayer);
REGISTER_LAYER_CLASS(LRN);

}  // namespace caffe
