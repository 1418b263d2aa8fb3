#include "caffe/layers/batch_norm_layer.hpp"

#include <cmath>

#include "caffe/filler.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {
namespace {

const bool registered = OperationTable::Add(Operation("BatchNorm")
                                                .Shapes(SameShapes)
                                                .InPlace()
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .FloatParameters()
                                                .Quantizable());

FillerParameter FillerOr(bool given, const FillerParameter& filler, float value) {
  if (given) return filler;
  FillerParameter constant;
  constant.set_type("constant");
  constant.set_value(value);
  return constant;
}

}  // namespace

template <typename Dtype>
void BatchNormLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>&) {
  const BatchNormParameter& param = this->layer_param_.batch_norm_param();
  moving_average_fraction_ = param.moving_average_fraction();
  Require(moving_average_fraction_ >= 0 && moving_average_fraction_ <= 1,
          "batch_norm_param: moving_average_fraction must lie between 0 and 1, got ",
          moving_average_fraction_);
  eps_ = param.eps();
  Require(eps_ >= 0, "batch_norm_param: eps must not be negative, got ", eps_);
  use_global_stats_ =
      param.has_use_global_stats() ? param.use_global_stats() : this->phase_ == TEST;
  // NVCaffe: a filler asks for scale and bias, too.
  scale_bias_ = param.scale_bias() || param.has_scale_filler() || param.has_bias_filler();
  channels_ = bottom[0]->num_axes() == 1 ? 1 : bottom[0]->shape(1);
  if (this->blobs_.empty()) {
    const vector<int> per_channel(1, channels_);
    for (const vector<int>& shape : {per_channel, per_channel, vector<int>(1, 1)}) {
      this->blobs_.emplace_back(new Blob<Dtype>(shape));
      this->blobs_.back()->mutable_cpu_data();  // zeros
    }
    if (scale_bias_) {
      this->blobs_[2]->mutable_cpu_data()[0] = 1;
      for (int i = 0; i < 2; ++i) this->blobs_.emplace_back(new Blob<Dtype>(per_channel));
      FillBlob(FillerOr(param.has_scale_filler(), param.scale_filler(), 1), this->blobs_[3].get());
      FillBlob(FillerOr(param.has_bias_filler(), param.bias_filler(), 0), this->blobs_[4].get());
    }
  }
  // Statistics are not learned: solvers leave them alone, whatever the net says.
  for (int i = 0; i < 3; ++i) {
    if (this->layer_param_.param_size() == i) {
      ParamSpec* spec = this->layer_param_.add_param();
      spec->set_lr_mult(0);
      spec->set_decay_mult(0);
    } else {
      Require(this->layer_param_.param(i).lr_mult() == 0, "BatchNorm: param ", i,
              " is a statistic and has lr_mult 0, not ", this->layer_param_.param(i).lr_mult());
    }
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const int channels = bottom[0]->num_axes() == 1 ? 1 : bottom[0]->shape(1);
  Require(channels == channels_, "the bottom has ", channels, " channels where the statistics are ",
          "for ", channels_);
  num_ = bottom[0]->shape(0);
  spatial_ = bottom[0]->count() / std::max(1, num_ * channels_);
  if (bottom[0] != top[0]) top[0]->ReshapeLike(*bottom[0]);
}

// Two passes: the mean first, then squares of what is left, which cannot cancel.
template <typename Dtype>
template <typename T>
void BatchNormLayer<Dtype>::BatchStatistics(const T* x, vector<double>* mean,
                                            vector<double>* variance) const {
  using F = AccumulatorType<T>;
  const size_t count = size_t(num_) * channels_ * spatial_;
  const double per_channel = double(num_) * spatial_;
  kernels::ChannelSums(num_, channels_, spatial_, x, x, mean->data(), nullptr);
  vector<F> ones(channels_, F(1)), shift(channels_);
  for (int c = 0; c < channels_; ++c) {
    (*mean)[c] /= per_channel;
    shift[c] = static_cast<F>(-(*mean)[c]);
  }
  vector<F> wide;
  if (!std::is_same<T, F>::value) {
    wide.resize(count);
    kernels::Affine(count, F(1), F(0), x, wide.data());
  }
  vector<F> centered(count);
  const F* source;
  if constexpr (std::is_same<T, F>::value) {
    source = x;
  } else {
    source = wide.data();
  }
  kernels::ChannelAffine<F>(num_, channels_, spatial_, ones.data(), shift.data(), source,
                            centered.data());
  kernels::ChannelSums(num_, channels_, spatial_, centered.data(), centered.data(), nullptr,
                       variance->data());
  for (double& v : *variance) v /= per_channel;
}

template <typename Dtype>
void BatchNormLayer<Dtype>::GlobalStatistics(vector<double>* mean, vector<double>* variance) const {
  const double weight = this->blobs_[2]->cpu_data()[0];
  const double factor = weight == 0 ? 0 : 1 / weight;
  for (int c = 0; c < channels_; ++c) {
    (*mean)[c] = factor * this->blobs_[0]->cpu_data()[c];
    (*variance)[c] = factor * this->blobs_[1]->cpu_data()[c];
  }
}

// BVLC's form adds up weighted sums, NVCaffe's averages; the variance is the unbiased one.
template <typename Dtype>
void BatchNormLayer<Dtype>::UpdateGlobalStatistics(const vector<double>& mean,
                                                   const vector<double>& variance) {
  const double m = double(num_) * spatial_;
  const double unbiased = m > 1 ? m / (m - 1) : 1;
  const double keep = moving_average_fraction_;
  const double add = scale_bias_ ? 1 - keep : 1;
  Dtype* means = this->blobs_[0]->mutable_cpu_data();
  Dtype* variances = this->blobs_[1]->mutable_cpu_data();
  for (int c = 0; c < channels_; ++c) {
    means[c] = static_cast<Dtype>(keep * means[c] + add * mean[c]);
    variances[c] = static_cast<Dtype>(keep * variances[c] + add * unbiased * variance[c]);
  }
  if (scale_bias_) return;
  Dtype* weight = this->blobs_[2]->mutable_cpu_data();
  weight[0] = static_cast<Dtype>(keep * weight[0] + 1);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  vector<double> mean(channels_), variance(channels_);
  inverse_std_.resize(channels_);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* x = bottom[0]->template cpu_data_as<T>();
    if (use_global_stats_) {
      GlobalStatistics(&mean, &variance);
    } else {
      BatchStatistics(x, &mean, &variance);
      UpdateGlobalStatistics(mean, variance);
    }
    vector<F> scale(channels_), shift(channels_);
    for (int c = 0; c < channels_; ++c) {
      inverse_std_[c] = 1 / std::sqrt(variance[c] + eps_);
      scale[c] = static_cast<F>(inverse_std_[c]);
      shift[c] = static_cast<F>(-mean[c] * inverse_std_[c]);
    }
    const bool keep = this->phase_ == TRAIN;
    if (keep) {
      normalized_.set_data_type(kElementType<T>);
      normalized_.ReshapeLike(*bottom[0]);
      kernels::ChannelAffine(num_, channels_, spatial_, scale.data(), shift.data(), x,
                             normalized_.template overwrite_cpu_data_as<T>());
    }
    if (scale_bias_) {
      for (int c = 0; c < channels_; ++c) {
        const F gamma = static_cast<F>(this->blobs_[3]->cpu_data()[c]);
        scale[c] *= gamma;
        shift[c] = shift[c] * gamma + static_cast<F>(this->blobs_[4]->cpu_data()[c]);
      }
    }
    kernels::ChannelAffine(num_, channels_, spatial_, scale.data(), shift.data(), x,
                           top[0]->template overwrite_cpu_data_as<T>());
  });
}

// With x^ the normalised input and means over a channel: dx = (dy - mean(dy) - x^ mean(dy x^)) /
// std; with global statistics dx = dy / std. A learned scale multiplies dy.
template <typename Dtype>
void BatchNormLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  const bool learns =
      scale_bias_ && (this->param_propagate_down_[3] || this->param_propagate_down_[4]);
  const bool needs_input = learns || !use_global_stats_;
  Require(!needs_input || normalized_.count() == top[0]->count(),
          "BatchNorm keeps what its gradient needs in the TRAIN phase only");
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template cpu_diff_as<D>();
    vector<double> sum(channels_), dot(channels_);
    const T* normalized = needs_input ? normalized_.template cpu_data_as<T>() : nullptr;
    if (needs_input) {
      kernels::ChannelSums(num_, channels_, spatial_, dy, normalized, sum.data(), dot.data());
    }
    if (scale_bias_ && this->param_propagate_down_[3]) {
      G* d_scale = this->blobs_[3]->template mutable_cpu_diff_as<G>();
      for (int c = 0; c < channels_; ++c) d_scale[c] += static_cast<G>(dot[c]);
    }
    if (scale_bias_ && this->param_propagate_down_[4]) {
      G* d_bias = this->blobs_[4]->template mutable_cpu_diff_as<G>();
      for (int c = 0; c < channels_; ++c) d_bias[c] += static_cast<G>(sum[c]);
    }
    if (!propagate_down[0]) return;
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    const double m = double(num_) * spatial_;
    for (int n = 0; n < num_; ++n) {
      for (int c = 0; c < channels_; ++c) {
        const double gamma = scale_bias_ ? double(this->blobs_[3]->cpu_data()[c]) : 1.;
        const G factor = static_cast<G>(gamma * inverse_std_[c]);
        const G mean_dy = use_global_stats_ ? G(0) : static_cast<G>(sum[c] / m);
        const G mean_dot = use_global_stats_ ? G(0) : static_cast<G>(dot[c] / m);
        const size_t start = (size_t(n) * channels_ + c) * spatial_;
        for (size_t i = start; i < start + spatial_; ++i) {
          const G x = mean_dot == 0 ? G(0) : static_cast<G>(normalized[i]);
          dx[i] = static_cast<D>(factor * (static_cast<G>(dy[i]) - mean_dy - x * mean_dot));
        }
      }
    }
  });
}

INSTANTIATE_CLASS(BatchNormLayer);
REGISTER_LAYER_CLASS(BatchNorm);

}  // namespace caffe
