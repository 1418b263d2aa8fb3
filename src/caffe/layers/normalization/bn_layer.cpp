#include "caffe/layers/bn_layer.hpp"

#include <algorithm>

#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

bool IsSegNets(const BNParameter& param) {
  return param.has_bn_mode() || param.has_scale_filler() || param.has_shift_filler();
}

Shape PerChannel(int channels) { return {1, channels, 1, 1}; }

std::vector<Shape> TopShapesOfBn(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  std::vector<Shape> tops(std::max(1, layer.top_size()),
                          PerChannel(bottom.size() < 2 ? 1 : bottom[1]));
  tops[0] = bottom;
  return tops;
}

const bool bn_registered = OperationTable::Add(Operation("BN")
                                                   .Shapes(TopShapesOfBn)
                                                   .InPlace()
                                                   .BackwardReads(Operation::kNothing)
                                                   .Native()
                                                   .FloatTops({1, 2})
                                                   .FloatParameters()
                                                   .Quantizable());

/// A scale without a filler is 0 in both forks, and nothing would come out of the layer: 1 here.
std::vector<ParameterBlob> ParametersOf(const BNParameter& param, bool segnet, int channels) {
  const Shape shape = PerChannel(channels);
  if (segnet) {
    return {{shape, FillerOr(param.has_scale_filler(), param.scale_filler(), 1)},
            {shape, FillerOr(param.has_shift_filler(), param.shift_filler(), 0)}};
  }
  return {{shape, FillerOr(param.has_slope_filler(), param.slope_filler(), 1)},
          {shape, FillerOr(param.has_bias_filler(), param.bias_filler(), 0)},
          {shape, ConstantOf(0)},
          {shape, ConstantOf(param.frozen() ? 1 : 0)}};
}

}  // namespace

template <typename Dtype>
void BNLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const BNParameter& param = this->layer_param_.bn_param();
  segnet_ = IsSegNets(param);
  const bool other = param.has_slope_filler() || param.has_bias_filler() || param.has_momentum() ||
                     param.has_frozen();
  Require(!segnet_ || !other, Error::Field{"bn_param"},
          ": bn_mode, scale_filler and shift_filler are of a layer with two parameters; "
          "slope_filler, bias_filler, momentum and frozen of one with four",
          Error::Remedy{"give either"});
  Require(top.size() == 1 || (segnet_ && param.bn_mode() == BNParameter_BnMode_LEARN),
          Error::Field{"bn_param"}, ": only bn_mode LEARN has tops for the mean and the variance");
  Require(param.momentum() >= 0 && param.momentum() <= 1, Error::Field{"bn_param"},
          ": momentum must lie between 0 and 1, got ", param.momentum());
  Require(param.eps() >= 0, Error::Field{"bn_param"}, ": eps must not be negative, got ",
          param.eps());
  eps_ = segnet_ ? 1e-9 : param.eps();
  const int channels = normalization_.ChannelsOf(*bottom[0]);
  normalization_.Reshape(*bottom[0], channels);
  MakeOrCheckParameters(ParametersOf(param, segnet_, channels), &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
  if (segnet_) return;
  // Statistics are not learned, nor is anything of a frozen layer, whatever the net says.
  while (this->layer_param_.param_size() < 4) this->layer_param_.add_param();
  for (int i = param.frozen() ? 0 : 2; i < 4; ++i) {
    this->layer_param_.mutable_param(i)->set_lr_mult(0);
    this->layer_param_.mutable_param(i)->set_decay_mult(0);
  }
}

template <typename Dtype>
void BNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  normalization_.Reshape(*bottom[0], this->blobs_[0]->count());
  if (bottom[0] != top[0]) top[0]->ReshapeLike(*bottom[0]);
  for (size_t i = 1; i < top.size(); ++i) top[i]->Reshape(PerChannel(normalization_.channels()));
}

template <typename Dtype>
typename BNLayer<Dtype>::Statistics BNLayer<Dtype>::statistics() const {
  const BNParameter& param = this->layer_param_.bn_param();
  if (segnet_) {
    return param.bn_mode() == BNParameter_BnMode_LEARN ? Statistics::BATCH : Statistics::NONE;
  }
  return this->phase_ == TEST || param.frozen() ? Statistics::STORED : Statistics::BATCH;
}

template <typename Dtype>
void BNLayer<Dtype>::UpdateStored(const vector<double>& mean, const vector<double>& variance) {
  const double keep = this->layer_param_.bn_param().momentum();
  Dtype* means = this->blobs_[2]->mutable_cpu_data();
  Dtype* variances = this->blobs_[3]->mutable_cpu_data();
  for (size_t c = 0; c < mean.size(); ++c) {
    means[c] = static_cast<Dtype>(keep * means[c] + (1 - keep) * mean[c]);
    variances[c] = static_cast<Dtype>(keep * variances[c] + (1 - keep) * variance[c]);
  }
}

template <typename Dtype>
void BNLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const int channels = normalization_.channels();
  vector<double> mean(channels, 0), variance(channels, 1);
  if (statistics() == Statistics::BATCH) {
    normalization_.Moments(this->forward_type(), *bottom[0], &mean, &variance);
    if (!segnet_ && bottom[0]->count() > 0) UpdateStored(mean, variance);
  } else if (statistics() == Statistics::STORED) {
    std::copy_n(this->blobs_[2]->template cpu_data_as<Dtype>(), channels, mean.begin());
    std::copy_n(this->blobs_[3]->template cpu_data_as<Dtype>(), channels, variance.begin());
  }
  if (top.size() > 1) std::copy(mean.begin(), mean.end(), top[1]->mutable_cpu_data());
  if (top.size() > 2) std::copy(variance.begin(), variance.end(), top[2]->mutable_cpu_data());
  normalization_.Forward(this->forward_type(), *bottom[0], mean, variance,
                         statistics() == Statistics::NONE ? 0 : eps_, this->blobs_[0].get(),
                         this->blobs_[1].get(), this->keeps_for_backward(), top[0]);
}

// Where the input was overwritten and not kept parameters' gradients stay as they are.
template <typename Dtype>
typename ChannelNormalization<Dtype>::Gradients BNLayer<Dtype>::WantedGradients(
    const Blob<Dtype>& top, bool propagate_down, Blob<Dtype>* bottom) const {
  typename ChannelNormalization<Dtype>::Gradients gradients;
  if (propagate_down) gradients.bottom = bottom;
  if (bottom == &top && !this->keeps_for_backward()) return gradients;
  if (this->param_propagate_down_[0]) gradients.scale = this->blobs_[0].get();
  if (this->param_propagate_down_[1]) gradients.shift = this->blobs_[1].get();
  return gradients;
}

template <typename Dtype>
void BNLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  normalization_.Backward(this->types(), bottom[0] == top[0] ? nullptr : bottom[0], *top[0],
                          statistics() == Statistics::BATCH, this->blobs_[0].get(),
                          WantedGradients(*top[0], propagate_down[0], bottom[0]));
}

INSTANTIATE_CLASS(BNLayer);
REGISTER_LAYER_CLASS(BN);

}  // namespace caffe
