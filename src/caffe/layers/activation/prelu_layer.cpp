#include "caffe/layers/prelu_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/pointwise.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

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
                            .Homogeneous());

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
          bottom[0]->shape_string());
  outer_ = channel_shared_ ? 1 : bottom[0]->shape(0);
  channels_ = channel_shared_ ? 1 : bottom[0]->shape(1);
  inner_ = channel_shared_ ? bottom[0]->count() : bottom[0]->count(2);
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
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same<T, float>::value) {
      if (this->phase_ == TEST && ForwardBlocked(*bottom[0], top[0])) return;
    }
    const T* x = bottom[0]->template cpu_data_as<T>();
    if (bottom[0] == top[0] && this->phase_ == TRAIN) {
      bottom_memory_.ReshapeLike(*bottom[0]);
      std::copy_n(x, bottom[0]->count(), bottom_memory_.template overwrite_cpu_data_as<T>());
    }
    kernels::PRelu(outer_, channels_, inner_,
                   this->blobs_[0]->template cpu_data_as<AccumulatorType<T>>(), x,
                   top[0]->template overwrite_cpu_data_as<T>());
  });
}

// In place x is kept in the TRAIN phase. Else y = slope * x serves where x was negative, as long as
// it has the sign of x.
template <typename Dtype>
bool PReLULayer<Dtype>::InputIsLost(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const {
  if (&bottom != &top) return false;
  if (this->phase_ == TRAIN && bottom_memory_.shape() == bottom.shape()) return false;
  const Dtype* slopes = this->blobs_[0]->template cpu_data_as<Dtype>();
  Require(std::all_of(slopes, slopes + channels_, [](Dtype slope) { return slope > 0; }),
          "PReLU in place keeps what the gradients of slopes of 0 and less need in the TRAIN phase "
          "only");
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
    const T* x = input.template cpu_data_as<T>();
    const D* dy = top[0]->template cpu_diff_as<D>();
    const G* slope = this->blobs_[0]->template cpu_data_as<G>();
    if (slopes_wanted) {
      vector<double> sums(channels_);
      kernels::PReluSlopeGradient(outer_, channels_, inner_, x, dy, sums.data());
      G* d_slope = this->blobs_[0]->template mutable_cpu_diff_as<G>();
      for (size_t c = 0; c < channels_; ++c) {
        d_slope[c] += static_cast<G>(input_lost ? sums[c] / slope[c] : sums[c]);
      }
    }
    if (propagate_down[0]) {
      kernels::PReluGradient(outer_, channels_, inner_, slope, x, dy,
                             bottom[0]->template overwrite_cpu_diff_as<D>());
    }
  });
}

INSTANTIATE_CLASS(PReLULayer);
REGISTER_LAYER_CLASS(PReLU);

}  // namespace caffe
