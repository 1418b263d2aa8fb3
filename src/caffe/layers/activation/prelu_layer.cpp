#include "caffe/layers/prelu_layer.hpp"

#include <limits>

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/channels.hpp"
#include "caffe/kernels/pointwise.hpp"
#include "caffe/layers/channel_order.hpp"
#include "caffe/layers/kept_for_backward.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Shape> TopShapesOfPrelu(const LayerParameter&, const std::vector<Shape>& bottoms) {
  Require(bottoms.at(0).size() >= 2, "PReLU takes a bottom of 2 axes or more (N, C, ...), not ",
          ShapeString(bottoms[0]));
  return {bottoms[0]};
}

const bool prelu_registered =
    OperationTable::Add(Operation("PReLU")
                            .Shapes(TopShapesOfPrelu)
                            .Activates([](const LayerParameter&) -> kernels::Activation {
                              return {kernels::Activation::PRELU};
                            })
                            .InPlace()
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .Homogeneous()
                            .QuantizableInIntegers());

}  // namespace

template <typename Dtype>
void PReLULayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>&) {
  const PReLUParameter& param = this->layer_param_.prelu_param();
  TopShapesOfPrelu(this->layer_param_, {bottom[0]->shape()});
  channel_shared_ = param.channel_shared();
  const Shape slopes = channel_shared_ ? Shape{} : Shape{bottom[0]->channels()};
  MakeOrCheckParameters<Dtype>({{slopes, FillerOr(param.has_filler(), param.filler(), 0.25f)}},
                               &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void PReLULayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfPrelu(this->layer_param_, {bottom[0]->shape()})[0]);
  Require(channel_shared_ || bottom[0]->shape(1) == this->blobs_[0]->count(), "PReLU has ",
          this->blobs_[0]->count(), " slopes, one a channel; its bottom is ",
          ShapeString(bottom[0]->shape()));
  outer_ = channel_shared_ ? 1 : bottom[0]->shape(0);
  channels_ = channel_shared_ ? 1 : bottom[0]->shape(1);
  inner_ = channel_shared_ ? bottom[0]->count() : bottom[0]->count(2);
}

// With one slope for all, channels may lie anywhere.
template <typename Dtype>
template <typename T>
Layout PReLULayer<Dtype>::LayoutOf(const Blob<Dtype>& blob) const {
  return channel_shared_ ? StoredLayout<T>(blob) : ChannelLayout<T>(blob, outer_, channels_);
}

/// (outer, channels, inner) as the kernels take it in a layout.
template <typename Dtype>
kernels::ChannelOrder PReLULayer<Dtype>::OrderIn(const Layout& layout) const {
  const bool last = !channel_shared_ &&
                    (layout.kind == Layout::CHANNELS_LAST || HasChannelsLast(channels_, inner_));
  if (last) return {outer_ * inner_, channels_, 1, channels_};
  return {outer_, channels_, inner_, 1};
}

// One slope a channel, where channels lie in blocks.
template <typename Dtype>
bool PReLULayer<Dtype>::ForwardBlocked(const Blob<Dtype>& bottom, Blob<Dtype>* top) const {
  const Layout layout = LayoutFor<float>(bottom.data_tensor(), bottom.shape());
  if (layout.kind != Layout::CHANNELS_BLOCKED || this->blobs_[0]->count() != bottom.shape(1)) {
    return false;
  }
  const float* x = ReadAs<float>(bottom.data_tensor(), layout);
  kernels::BlockedPRelu(layout.num, layout.channels, layout.spatial, layout.block,
                        this->blobs_[0]->template cpu_data_as<float>(), x,
                        OverwriteAs<float>(top->data_tensor(), layout));
  return true;
}

template <typename Dtype>
void PReLULayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const bool keep = bottom[0] == top[0] && this->keeps_for_backward();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same<T, float>::value) {
      if (this->phase_ == TEST && !keep && ForwardBlocked(*bottom[0], top[0])) return;
    }
    const Layout layout = LayoutOf<T>(*bottom[0]);
    const kernels::ChannelOrder order = OrderIn(layout);
    const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
    if (keep) KeepAs<T>(*bottom[0], layout, &bottom_memory_);
    kernels::PRelu(order.outer, order.channels, order.inner,
                   this->blobs_[0]->template cpu_data_as<AccumulatorType<T>>(), x,
                   OverwriteAs<T>(top[0]->data_tensor(), layout));
  });
}

// Where x was overwritten and not kept, y = slope * x serves for negative x, as long as it has the
// sign of x.
template <typename Dtype>
bool PReLULayer<Dtype>::InputIsLost(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const {
  if (&bottom != &top) return false;
  if (this->keeps_for_backward() && bottom_memory_.shape() == bottom.shape()) return false;
  const Dtype* slopes = this->blobs_[0]->template cpu_data_as<Dtype>();
  Require(std::all_of(slopes, slopes + channels_, [](Dtype slope) { return slope > 0; }),
          "PReLU in place has not kept what the gradients of slopes of 0 and less need",
          RemedyToKeep());
  return true;
}

template <typename Dtype>
void PReLULayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  const bool slopes_wanted = this->param_propagate_down_[0];
  if (!slopes_wanted && !propagate_down[0]) return;
  const bool input_lost = InputIsLost(*bottom[0], *top[0]);
  const Blob<Dtype>& input = bottom[0] == top[0] && !input_lost ? bottom_memory_ : *bottom[0];
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const Layout layout = LayoutOf<T>(input);
    const kernels::ChannelOrder order = OrderIn(layout);
    const T* x = ReadAs<T>(input.data_tensor(), layout);
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    const G* slope = this->blobs_[0]->template cpu_data_as<G>();
    if (slopes_wanted) {
      vector<double> sums(channels_);
      if (order.last()) {
        Workspace::Buffer<T> negative(Context::Current().workspace(), input.count());
        kernels::Activate<T>({kernels::Activation::CLIP, -kInfinity, 0}, input.count(), x,
                             negative.get());
        kernels::SumsOverPixels<D, T>(order.outer, channels_, dy, negative.get(), nullptr,
                                      sums.data());
      } else {
        kernels::PReluSlopeGradient(order.outer, order.channels, order.inner, x, dy, sums.data());
      }
      G* d_slope = this->blobs_[0]->template mutable_cpu_diff_as<G>();
      for (size_t c = 0; c < channels_; ++c) {
        d_slope[c] += static_cast<G>(input_lost ? sums[c] / slope[c] : sums[c]);
      }
    }
    if (propagate_down[0]) {
      kernels::PReluGradient(order.outer, order.channels, order.inner, slope, x, dy,
                             OverwriteAs<D>(bottom[0]->diff_tensor(), layout));
    }
  });
}

INSTANTIATE_CLASS(PReLULayer);
REGISTER_LAYER_CLASS(PReLU);

}  // namespace caffe
