#include "caffe/layers/scale_layer.hpp"

#include "caffe/layers/channel_order.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/layers/kept_for_backward.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfScale(const LayerParameter&, const std::vector<Shape>& bottoms) {
  return {bottoms.at(0)};
}

const bool scale_registered = OperationTable::Add(Operation("Scale")
                                                      .Affine()
                                                      .Shapes(TopShapesOfScale)
                                                      .InPlace()
                                                      .BackwardReads(Operation::kBottomData)
                                                      .Native()
                                                      .Quantizable());

}  // namespace

template <typename Dtype>
void ScaleLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>&) {
  const ScaleParameter& param = this->layer_param_.scale_param();
  const bool own_scale = bottom.size() == 1;
  const Shape scale_shape = own_scale ? Broadcast::ParameterShape("scale", bottom[0]->shape(),
                                                                  param.axis(), param.num_axes())
                                      : bottom[1]->shape();
  std::vector<ParameterBlob> parameters;
  if (own_scale) {
    parameters.push_back({scale_shape, FillerOr(param.has_filler(), param.filler(), 1)});
  }
  if (param.bias_term()) parameters.push_back({scale_shape, param.bias_filler()});
  MakeOrCheckParameters(parameters, &this->blobs_);
  bias_param_id_ = param.bias_term() ? static_cast<int>(parameters.size()) - 1 : -1;
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void ScaleLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const Broadcast scale("scale", bottom[0]->shape(), Scale(bottom).shape(),
                        this->layer_param_.scale_param().axis());
  if (bias_param_id_ >= 0) {  // it has the shape that bottom 1 had at first
    const Shape& bias = this->blobs_[bias_param_id_]->shape();
    Require(this->blobs_[bias_param_id_]->count() == scale.dim, "the bias of shape ",
            ShapeString(bias), " does not fit the scale of shape ",
            ShapeString(Scale(bottom).shape()));
  }
  axis_ = scale.axis;
  outer_dim_ = scale.outer_dim;
  scale_dim_ = scale.dim;
  inner_dim_ = scale.inner_dim;
  if (bottom[0] != top[0]) top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
void ScaleLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const bool keep = bottom[0] == top[0] && this->keeps_for_backward();
  Pointwise pointwise;
  if (this->phase_ == TEST && !keep && this->forward_type() == ElementType::FLOAT &&
      DescribePointwise(&pointwise)) {
    pointwise.shift.resize(scale_dim_, 0.f);
    return ApplyAsStored(pointwise, *bottom[0], top[0]);
  }
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const Layout layout = OrderedLayout<T>(*bottom[0], outer_dim_, scale_dim_);
    if (keep) KeepAs<T>(*bottom[0], layout, &temp_);
    const F* scale = Scale(bottom).template cpu_data_as<F>();
    const F* bias =
        bias_param_id_ < 0 ? nullptr : this->blobs_[bias_param_id_]->template cpu_data_as<F>();
    const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
    kernels::ChannelAffine(OrderIn(layout, outer_dim_, scale_dim_, inner_dim_), scale, bias, x,
                           OverwriteAs<T>(top[0]->data_tensor(), layout));
  });
}

// Where the input was overwritten and not kept the parameter's gradient, from which nothing is
// learned in the TEST phase, stays as it is.
template <typename Dtype>
bool ScaleLayer<Dtype>::WantsScaleGradient(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down) const {
  const bool in_place = bottom[0] == top[0];
  const bool kept = !in_place || this->keeps_for_backward();
  const bool wanted =
      bottom.size() == 1 ? kept && this->param_propagate_down_[0] : bool(propagate_down[1]);
  Require(!wanted || !in_place || temp_.count() == top[0]->count(),
          "Scale in place has not kept what its gradient needs", RemedyToKeep());
  return wanted;
}

template <typename Dtype>
void ScaleLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  const bool own_scale = bottom.size() == 1;
  const bool scale_wanted = WantsScaleGradient(bottom, top, propagate_down);
  const bool bias_wanted = bias_param_id_ >= 0 && this->param_propagate_down_[bias_param_id_];
  const Blob<Dtype>& input = bottom[0] == top[0] ? temp_ : *bottom[0];
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const Layout layout = OrderedLayout<T>(*top[0], outer_dim_, scale_dim_);
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    vector<double> sums(bias_wanted ? scale_dim_ : 0), dots(scale_wanted ? scale_dim_ : 0);
    if (bias_wanted || scale_wanted) {
      const T* x = scale_wanted ? ReadAs<T>(input.data_tensor(), layout) : nullptr;
      kernels::ChannelSums(OrderIn(layout, outer_dim_, scale_dim_, inner_dim_), dy, x,
                           bias_wanted ? sums.data() : nullptr,
                           scale_wanted ? dots.data() : nullptr);
    }
    if (bias_wanted) {
      G* d_bias = this->blobs_[bias_param_id_]->template mutable_cpu_diff_as<G>();
      for (int i = 0; i < scale_dim_; ++i) d_bias[i] += static_cast<G>(sums[i]);
    }
    if (scale_wanted && own_scale) {
      G* d_scale = this->blobs_[0]->template mutable_cpu_diff_as<G>();
      for (int i = 0; i < scale_dim_; ++i) d_scale[i] += static_cast<G>(dots[i]);
    } else if (scale_wanted) {
      D* d_scale = bottom[1]->template overwrite_cpu_diff_as<D>();
      for (int i = 0; i < scale_dim_; ++i) d_scale[i] = static_cast<D>(dots[i]);
    }
    if (propagate_down[0]) {
      const G* scale = Scale(bottom).template cpu_data_as<G>();
      kernels::ChannelAffine<D>(OrderIn(layout, outer_dim_, scale_dim_, inner_dim_), scale, nullptr,
                                dy, OverwriteAs<D>(bottom[0]->diff_tensor(), layout));
    }
  });
}

template <typename Dtype>
bool ScaleLayer<Dtype>::ScalesChannels() const {
  return own_scale() && axis_ == 1 && this->blobs_[0]->num_axes() == 1;
}

template <typename Dtype>
void ScaleLayer<Dtype>::SetInput(const Blob<Dtype>& x) {
  temp_.ReshapeLike(x);
  temp_.ShareData(x);
}

template <typename Dtype>
bool ScaleLayer<Dtype>::DescribePointwise(Pointwise* description) {
  if (!ScalesChannels()) return false;
  const auto values = [&](int i) {
    const Dtype* data = this->blobs_[i]->template cpu_data_as<Dtype>();
    return vector<float>(data, data + scale_dim_);
  };
  description->scale = values(0);
  if (bias_param_id_ >= 0) description->shift = values(bias_param_id_);
  return true;
}

INSTANTIATE_CLASS(ScaleLayer);
REGISTER_LAYER_CLASS(Scale);

}  // namespace caffe
