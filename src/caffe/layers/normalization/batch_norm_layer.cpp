#include "caffe/layers/batch_norm_layer.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "caffe/layers/relu_layer.hpp"
#include "caffe/layers/scale_layer.hpp"

namespace caffe {
namespace {

const bool batch_norm_registered = OperationTable::Add(Operation("BatchNorm")
                                                           .Affine()
                                                           .Shapes(SameShapes)
                                                           .InPlace()
                                                           .BackwardReads(Operation::kNothing)
                                                           .Native()
                                                           .FloatParameters()
                                                           .UpdatesParameters()
                                                           .Quantizable());

}  // namespace

template <typename Dtype>
void BatchNormLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>&) {
  const BatchNormParameter& param = this->layer_param_.batch_norm_param();
  moving_average_fraction_ = param.moving_average_fraction();
  Require(moving_average_fraction_ >= 0 && moving_average_fraction_ <= 1,
          Error::Field{"batch_norm_param"},
          ": moving_average_fraction must lie between 0 and 1, got ", moving_average_fraction_);
  eps_ = param.eps();
  Require(eps_ >= 0, Error::Field{"batch_norm_param"}, ": eps must not be negative, got ", eps_);
  use_global_stats_ =
      param.has_use_global_stats() ? param.use_global_stats() : this->phase_ == TEST;
  // NVCaffe: a filler asks for scale and bias, too.
  scale_bias_ = param.scale_bias() || param.has_scale_filler() || param.has_bias_filler();
  channels_ = normalization_.ChannelsOf(*bottom[0]);
  const Shape per_channel = {channels_};
  std::vector<ParameterBlob> parameters = {{per_channel, ConstantOf(0)},
                                           {per_channel, ConstantOf(0)},
                                           {{1}, ConstantOf(scale_bias_ ? 1 : 0)}};
  if (scale_bias_) {
    parameters.push_back(
        {per_channel, FillerOr(param.has_scale_filler(), param.scale_filler(), 1)});
    parameters.push_back({per_channel, FillerOr(param.has_bias_filler(), param.bias_filler(), 0)});
  }
  MakeOrCheckParameters(parameters, &this->blobs_);
  FreezeStatistics();
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

// Statistics are not learned: solvers leave them alone, whatever the net says.
template <typename Dtype>
void BatchNormLayer<Dtype>::FreezeStatistics() {
  bool stated = false;
  for (int i = 0; i < 3; ++i) {
    const bool given = i < this->layer_param_.param_size();
    ParamSpec* spec = given ? this->layer_param_.mutable_param(i) : this->layer_param_.add_param();
    if (given && spec->lr_mult() == 0) continue;
    stated |= given;
    spec->set_lr_mult(0);
    spec->set_decay_mult(0);
  }
  LOG_IF(WARNING, stated && Caffe::root_solver())
      << "BatchNorm layer '" << this->layer_param_.name()
      << "': its first three parameters are statistics, which are not learned: their lr_mult and "
         "decay_mult are 0, whatever the net says";
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  normalization_.Reshape(*bottom[0], channels_);
  if (bottom[0] != top[0]) top[0]->ReshapeLike(*bottom[0]);
}

// Engines' primitives are for the one or the other.
template <typename Dtype>
void BatchNormLayer<Dtype>::set_use_global_stats(bool value) {
  if (value != use_global_stats_) engines_.reset();
  use_global_stats_ = value;
}

template <typename Dtype>
void BatchNormLayer<Dtype>::GlobalStatistics(vector<double>* mean, vector<double>* variance) const {
  const double weight = this->blobs_[2]->template cpu_data_as<Dtype>()[0];
  const double factor = weight == 0 ? 0 : 1 / weight;
  for (int c = 0; c < channels_; ++c) {
    (*mean)[c] = factor * this->blobs_[0]->template cpu_data_as<Dtype>()[c];
    (*variance)[c] = factor * this->blobs_[1]->template cpu_data_as<Dtype>()[c];
  }
}

// BVLC's form adds up weighted sums; the variance is the unbiased one. NVCaffe's averages have no
// weight that would make up for a start at 0: there the first batch's statistics are copied.
template <typename Dtype>
void BatchNormLayer<Dtype>::UpdateGlobalStatistics(const vector<double>& mean,
                                                   const vector<double>& variance) {
  const double m = normalization_.values_per_channel();
  const double unbiased = m > 1 ? m / (m - 1) : 1;
  Dtype* means = this->blobs_[0]->mutable_cpu_data();
  Dtype* variances = this->blobs_[1]->mutable_cpu_data();
  const auto all_zero = [this](const Dtype* values) {
    return std::all_of(values, values + channels_, [](Dtype value) { return value == 0; });
  };
  const bool copied = scale_bias_ && all_zero(means) && all_zero(variances);
  const double keep = copied ? 0 : moving_average_fraction_;
  const double add = scale_bias_ ? 1 - keep : 1;
  for (int c = 0; c < channels_; ++c) {
    means[c] = static_cast<Dtype>(keep * means[c] + add * mean[c]);
    variances[c] = static_cast<Dtype>(keep * variances[c] + add * unbiased * variance[c]);
  }
  if (scale_bias_) return;
  Dtype* weight = this->blobs_[2]->mutable_cpu_data();
  weight[0] = static_cast<Dtype>(keep * weight[0] + 1);
}

template <typename Dtype>
bool BatchNormLayer<Dtype>::DescribePointwise(Pointwise* description) {
  if (!use_global_stats_ || this->phase_ != TEST || engine_ == Engine::REFERENCE) return false;
  vector<double> mean(channels_), variance(channels_);
  GlobalStatistics(&mean, &variance);
  description->scale.resize(channels_);
  description->shift.resize(channels_);
  for (int c = 0; c < channels_; ++c) {
    double scale = 1 / std::sqrt(variance[c] + double(eps_)), shift = -mean[c] * scale;
    if (scale_bias_) {
      const double gamma = this->blobs_[3]->template cpu_data_as<Dtype>()[c];
      scale *= gamma;
      shift = shift * gamma + this->blobs_[4]->template cpu_data_as<Dtype>()[c];
    }
    description->scale[c] = static_cast<float>(scale);
    description->shift[c] = static_cast<float>(shift);
  }
  return true;
}

template <typename Dtype>
int BatchNormLayer<Dtype>::FuseFollowers(const vector<Layer<Dtype>*>& followers) {
  if (this->phase_ == TRAIN) return FuseForTraining(followers);
  Pointwise own;
  if (this->forward_type() != ElementType::FLOAT || !DescribePointwise(&own)) return 0;
  followers_.reset(new FusedFollowers<Dtype>);
  return followers_->Take(followers, this->forward_type(), channels_, own);
}

template <typename Dtype>
int BatchNormLayer<Dtype>::FuseForTraining(const vector<Layer<Dtype>*>& followers) {
  if (engine_ != Engine::DEFAULT) return 0;
  auto* scale = dynamic_cast<ScaleLayer<Dtype>*>(followers[0]);
  const bool able = scale && !scale_bias_ && scale->ScalesChannels() &&
                    scale->blobs()[0]->count() == channels_ && scale->types() == this->types();
  if (able) scale_ = scale;
  const size_t taken = able ? 1 : 0;
  return static_cast<int>(taken) + (taken < followers.size() && TakeRelu(followers[taken]));
}

// On a GPU the gradient finds the ReLU's input again from the normalized values that were kept, so
// it must not have been computed from others before they were rounded. With a negative slope the
// ReLU by itself would need its input.
template <typename Dtype>
bool BatchNormLayer<Dtype>::TakeRelu(Layer<Dtype>* layer) {
  Pointwise described;
  if (!dynamic_cast<ReLULayer<Dtype>*>(layer) || !layer->DescribePointwise(&described))
    return false;
  const double slope = described.activation.a;
  const bool found_again = !scale_bias_ || !IsHalfWidth(this->forward_type());
  if (!found_again || !(slope >= 0) || layer->types() != this->types()) return false;
  relu_ = layer;
  slope_ = slope;
  return true;
}

template <typename Dtype>
Blob<Dtype>* BatchNormLayer<Dtype>::ScaleBlob(bool fused) const {
  if (scale_bias_) return this->blobs_[3].get();
  return fused && scale_ ? scale_->blobs()[0].get() : nullptr;
}

template <typename Dtype>
Blob<Dtype>* BatchNormLayer<Dtype>::ShiftBlob(bool fused) const {
  if (scale_bias_) return this->blobs_[4].get();
  return fused && scale_ ? scale_->bias() : nullptr;
}

// In the TRAIN phase it is the input of a fused Scale layer, too.
template <typename Dtype>
bool BatchNormLayer<Dtype>::KeepsInput() const {
  const bool needed = this->phase_ == TRAIN || scale_bias_ || !use_global_stats_;
  return needed && this->keeps_for_backward();
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  if (!ForwardByEngine(*bottom[0], top[0])) RunForward(*bottom[0], /*fused=*/false, top[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Forward_fused(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  engines_.reset();
  RunForward(*bottom[0], /*fused=*/true, top[0]);
  if (relu_) relu_->Forward(top, top);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::RunForward(const Blob<Dtype>& bottom, bool fused, Blob<Dtype>* top) {
  const bool keep = KeepsInput();
  Pointwise pointwise;
  if (!keep && this->forward_type() == ElementType::FLOAT && DescribePointwise(&pointwise)) {
    if (fused) pointwise = followers_->Describe(channels_, pointwise);
    return ApplyAsStored(pointwise, bottom, top);
  }
  vector<double> mean(channels_), variance(channels_);
  if (use_global_stats_) {
    GlobalStatistics(&mean, &variance);
  } else {
    normalization_.Moments(this->forward_type(), bottom, &mean, &variance);
    if (bottom.count() > 0) UpdateGlobalStatistics(mean, variance);
  }
  normalization_.Forward(this->forward_type(), bottom, mean, variance, eps_, ScaleBlob(fused),
                         ShiftBlob(fused), keep, top);
  if (fused && scale_) scale_->SetInput(normalization_.normalized());
}

// In place, where the input was not kept, parameters' gradients stay as they are.
template <typename Dtype>
typename ChannelNormalization<Dtype>::Gradients BatchNormLayer<Dtype>::WantedGradients(
    const Blob<Dtype>& top, bool propagate_down, bool fused, Blob<Dtype>* bottom) const {
  typename ChannelNormalization<Dtype>::Gradients gradients;
  if (propagate_down) gradients.bottom = bottom;
  if (bottom == &top && !this->keeps_for_backward()) return gradients;
  const auto wanted = [&](int i) {
    return scale_bias_ ? bool(this->param_propagate_down_[3 + i]) : scale_->param_propagate_down(i);
  };
  Blob<Dtype>* scale = ScaleBlob(fused);
  Blob<Dtype>* shift = ShiftBlob(fused);
  if (scale && wanted(0)) gradients.scale = scale;
  if (shift && wanted(1)) gradients.shift = shift;
  return gradients;
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  if (BackwardByEngine(*top[0], propagate_down, bottom[0])) return;
  RunBackward(*top[0], propagate_down, /*fused=*/false, bottom[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Backward_fused(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  if (relu_) relu_->Backward(top, {true}, top);
  RunBackward(*top[0], propagate_down, /*fused=*/true, bottom[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::RunBackward(const Blob<Dtype>& top, const vector<bool>& propagate_down,
                                        bool fused, Blob<Dtype>* bottom) {
  if (use_global_stats_) {
    vector<double> mean(channels_), variance(channels_);
    GlobalStatistics(&mean, &variance);
    normalization_.SetStatistics(mean, variance, eps_);
  }
  normalization_.Backward(this->types(), bottom == &top ? nullptr : bottom, top, !use_global_stats_,
                          ScaleBlob(fused), WantedGradients(top, propagate_down[0], fused, bottom));
}

INSTANTIATE_CLASS(BatchNormLayer);
REGISTER_LAYER_CLASS(BatchNorm);

}  // namespace caffe
