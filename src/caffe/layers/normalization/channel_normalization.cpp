#include "caffe/layers/channel_normalization.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/layers/channel_order.hpp"
#include "caffe/layers/kept_for_backward.hpp"

namespace caffe {

template <typename Dtype>
int ChannelNormalization<Dtype>::ChannelsOf(const Blob<Dtype>& bottom) {
  return bottom.num_axes() < 2 ? 1 : bottom.shape(1);
}

template <typename Dtype>
void ChannelNormalization<Dtype>::Reshape(const Blob<Dtype>& bottom, int channels) {
  Require(ChannelsOf(bottom) == channels, "the bottom has ", ChannelsOf(bottom),
          " channels where the statistics are for ", channels);
  channels_ = channels;
  num_ = bottom.num_axes() == 0 ? 1 : bottom.shape(0);
  spatial_ = bottom.count() / std::max(1, num_ * channels_);
}

template <typename Dtype>
void ChannelNormalization<Dtype>::Moments(ElementType type, const Blob<Dtype>& bottom,
                                          vector<double>* mean, vector<double>* variance) const {
  mean->assign(channels_, 0);
  variance->assign(channels_, 0);
  if (bottom.count() == 0) return;
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = OrderedLayout<T>(bottom, num_, channels_);
    const T* x = ReadAs<T>(bottom.data_tensor(), layout);
    kernels::ChannelMoments(OrderIn(layout, num_, channels_, spatial_), x, mean->data(),
                            variance->data());
  });
}

template <typename Dtype>
void ChannelNormalization<Dtype>::SetStatistics(const vector<double>& mean,
                                                const vector<double>& variance, double eps) {
  mean_ = mean;
  inverse_std_.resize(channels_);
  for (int c = 0; c < channels_; ++c) inverse_std_[c] = 1 / std::sqrt(variance[c] + eps);
}

template <typename Dtype>
void ChannelNormalization<Dtype>::Forward(ElementType type, const Blob<Dtype>& bottom,
                                          const vector<double>& mean,
                                          const vector<double>& variance, double eps,
                                          const Blob<Dtype>* scale, const Blob<Dtype>* shift,
                                          bool keep, Blob<Dtype>* top) {
  SetStatistics(mean, variance, eps);
  Apply(type, bottom, scale, shift, keep, top);
}

template <typename Dtype>
void ChannelNormalization<Dtype>::Apply(ElementType type, const Blob<Dtype>& bottom,
                                        const Blob<Dtype>* scale, const Blob<Dtype>* shift,
                                        bool keep, Blob<Dtype>* top) {
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    vector<F> factor(channels_), term(channels_);
    const Layout layout = OrderedLayout<T>(bottom, num_, channels_);
    const kernels::ChannelOrder order = OrderIn(layout, num_, channels_, spatial_);
    const T* x = ReadAs<T>(bottom.data_tensor(), layout);
    const Dtype* gamma = scale ? scale->cpu_data() : nullptr;
    const Dtype* beta = shift ? shift->cpu_data() : nullptr;
    for (int c = 0; c < channels_; ++c) {
      const double slope = (gamma ? gamma[c] : 1.) * inverse_std_[c];
      factor[c] = static_cast<F>(slope);
      term[c] = static_cast<F>((beta ? beta[c] : 0.) - mean_[c] * slope);
    }
    T* y = OverwriteAs<T>(top->data_tensor(), layout);
    if (!keep) return kernels::ChannelAffine(order, factor.data(), term.data(), x, y);
    vector<F> unscaled(channels_), centering(channels_);
    for (int c = 0; c < channels_; ++c) {
      unscaled[c] = static_cast<F>(inverse_std_[c]);
      centering[c] = static_cast<F>(-mean_[c] * inverse_std_[c]);
    }
    normalized_.set_data_type(kElementType<T>);
    normalized_.ReshapeLike(bottom);
    T* normalized = OverwriteAs<T>(normalized_.data_tensor(), layout);
    kernels::ChannelAffineTwice(order, unscaled.data(), centering.data(), factor.data(),
                                term.data(), x, normalized, y);
  });
}

template <typename Dtype>
void ChannelNormalization<Dtype>::RequireInput(const Blob<Dtype>* input, int statistics) const {
  Require(statistics == channels_, "Backward needs a Forward before it");
  Require(input, "the layer works in place and has not kept what its gradient needs",
          RemedyToKeep());
}

// With x^ the normalised input and means over a channel: dx = scale / std (dy - mean(dy) - x^
// mean(dy x^)); with statistics that do not depend on the input dx = scale / std dy.
template <typename Dtype>
void ChannelNormalization<Dtype>::Backward(const LayerTypes& types, const Blob<Dtype>* input,
                                           const Blob<Dtype>& top, bool batch_statistics,
                                           const Blob<Dtype>* scale, const Gradients& gradients) {
  const bool needs_input =
      gradients.scale || gradients.shift || (batch_statistics && gradients.bottom);
  const bool kept = normalized_.count() == top.count();
  Blob<Dtype> computed;
  if (needs_input && !kept) {
    RequireInput(input, static_cast<int>(mean_.size()));
    computed.set_data_type(types.forward_type);
    computed.ReshapeLike(*input);
    Apply(types.forward_type, *input, nullptr, nullptr, /*keep=*/false, &computed);
  }
  const Blob<Dtype>& normalized_input = kept ? normalized_ : computed;
  Dispatch(types.forward_type, types.backward_type, [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    // In the layout that the input was kept in.
    const Layout layout = OrderedLayout<T>(needs_input ? normalized_input : top, num_, channels_);
    const kernels::ChannelOrder order = OrderIn(layout, num_, channels_, spatial_);
    const D* dy = ReadAs<D>(top.diff_tensor(), layout);
    const T* normalized = needs_input ? ReadAs<T>(normalized_input.data_tensor(), layout) : nullptr;
    vector<double> sum(channels_), dot(channels_);
    if (needs_input) kernels::ChannelSums(order, dy, normalized, sum.data(), dot.data());
    const auto add = [&](const vector<double>& sums, Blob<Dtype>* parameter) {
      if (!parameter) return;
      G* diff = parameter->template mutable_cpu_diff_as<G>();
      for (int c = 0; c < channels_; ++c) diff[c] += static_cast<G>(sums[c]);
    };
    add(dot, gradients.scale);
    add(sum, gradients.shift);
    if (!gradients.bottom) return;
    D* dx = OverwriteAs<D>(gradients.bottom->diff_tensor(), layout);
    const Dtype* gamma = scale ? scale->cpu_data() : nullptr;
    vector<G> factor(channels_), of_normalized(channels_), term(channels_);
    for (int c = 0; c < channels_; ++c) {
      const double slope = (gamma ? gamma[c] : 1.) * inverse_std_[c];
      factor[c] = static_cast<G>(slope);
      of_normalized[c] = static_cast<G>(-slope * dot[c] / values_per_channel());
      term[c] = static_cast<G>(-slope * sum[c] / values_per_channel());
    }
    if (batch_statistics) {
      kernels::ChannelCombine(order, factor.data(), dy, of_normalized.data(), normalized,
                              term.data(), dx);
    } else {
      kernels::ChannelAffine<D>(order, factor.data(), nullptr, dy, dx);
    }
  });
}

template class ChannelNormalization<float>;
template class ChannelNormalization<double>;

}  // namespace caffe
