#include "caffe/layers/channel_normalization.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/blocked_channels.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/channel_order.hpp"

namespace caffe {
namespace {

kernels::BlockedChannels Blocked(const Layout& layout) {
  return {layout.num, layout.channels, layout.spatial, static_cast<size_t>(layout.block)};
}

/// The layout in which the kernels take the values of (outer, channels, ...): in blocks, channels
/// last or Caffe's order.
template <typename T, typename Dtype>
Layout LayoutOfValues(const Blob<Dtype>& blob, int outer, int channels) {
  const Layout layout = BlockedLayoutFor<T>(blob.data_tensor(), blob.shape());
  return layout.kind == Layout::PLAIN ? ChannelLayout<T>(blob, outer, channels) : layout;
}

}  // namespace

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
    const Layout layout = LayoutOfValues<T>(bottom, num_, channels_);
    const T* x = ReadAs<T>(bottom.data_tensor(), layout);
    if constexpr (std::is_same<T, float>::value) {
      if (layout.kind == Layout::CHANNELS_BLOCKED) {
        return kernels::BlockedMoments(Blocked(layout), x, mean->data(), variance->data());
      }
    }
    kernels::ChannelMoments(OrderIn(layout, num_, channels_, spatial_), x, mean->data(),
                            variance->data());
  });
}

template <typename Dtype>
void ChannelNormalization<Dtype>::SetVariance(const vector<double>& variance, double eps) {
  inverse_std_.resize(channels_);
  for (int c = 0; c < channels_; ++c) inverse_std_[c] = 1 / std::sqrt(variance[c] + eps);
}

template <typename Dtype>
void ChannelNormalization<Dtype>::Forward(ElementType type, const Blob<Dtype>& bottom,
                                          const vector<double>& mean,
                                          const vector<double>& variance, double eps,
                                          const Blob<Dtype>* scale, const Blob<Dtype>* shift,
                                          bool keep, Blob<Dtype>* top) {
  SetVariance(variance, eps);
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    vector<F> factor(channels_), term(channels_);
    const Layout layout = LayoutOfValues<T>(bottom, num_, channels_);
    const auto apply = [&](const vector<F>& slopes, const vector<F>& terms, const T* x, T* y) {
      if constexpr (std::is_same<T, float>::value) {
        if (layout.kind == Layout::CHANNELS_BLOCKED) {
          return kernels::BlockedCombine(Blocked(layout), slopes.data(), x, nullptr, nullptr,
                                         terms.data(), y);
        }
      }
      kernels::ChannelAffine(OrderIn(layout, num_, channels_, spatial_), slopes.data(),
                             terms.data(), x, y);
    };
    const T* x = ReadAs<T>(bottom.data_tensor(), layout);
    const Dtype* gamma = scale ? scale->cpu_data() : nullptr;
    const Dtype* beta = shift ? shift->cpu_data() : nullptr;
    for (int c = 0; c < channels_; ++c) {
      const double slope = (gamma ? gamma[c] : 1.) * inverse_std_[c];
      factor[c] = static_cast<F>(slope);
      term[c] = static_cast<F>((beta ? beta[c] : 0.) - mean[c] * slope);
    }
    T* y = OverwriteAs<T>(top->data_tensor(), layout);
    if (!keep) return apply(factor, term, x, y);
    vector<F> unscaled(channels_), centering(channels_);
    for (int c = 0; c < channels_; ++c) {
      unscaled[c] = static_cast<F>(inverse_std_[c]);
      centering[c] = static_cast<F>(-mean[c] * inverse_std_[c]);
    }
    normalized_.set_data_type(kElementType<T>);
    normalized_.ReshapeLike(bottom);
    T* normalized = OverwriteAs<T>(normalized_.data_tensor(), layout);
    if (layout.kind == Layout::CHANNELS_LAST) {
      return kernels::PixelAffineTwice(OrderIn(layout, num_, channels_, spatial_).pixels(),
                                       channels_, unscaled.data(), centering.data(), factor.data(),
                                       term.data(), x, normalized, y);
    }
    apply(unscaled, centering, x, normalized);
    apply(factor, term, x, y);
  });
}

// With x^ the normalised input and means over a channel: dx = scale / std (dy - mean(dy) - x^
// mean(dy x^)); with statistics that do not depend on the input dx = scale / std dy.
template <typename Dtype>
void ChannelNormalization<Dtype>::Backward(const LayerTypes& types, const Blob<Dtype>& top,
                                           bool batch_statistics, const Blob<Dtype>* scale,
                                           const Gradients& gradients) {
  const bool needs_input =
      gradients.scale || gradients.shift || (batch_statistics && gradients.bottom);
  Require(!needs_input || normalized_.count() == top.count(),
          "the layer keeps what its gradient needs in the TRAIN phase only");
  Dispatch(types.forward_type, types.backward_type, [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    // In the layout that the input was kept in.
    constexpr bool kFloat = std::is_same<T, float>::value && std::is_same<D, float>::value;
    Layout layout = LayoutOfValues<T>(needs_input ? normalized_ : top, num_, channels_);
    const bool blocked = layout.kind == Layout::CHANNELS_BLOCKED && kFloat && needs_input;
    if (layout.kind == Layout::CHANNELS_BLOCKED && !blocked) layout = Layout();
    const D* dy = ReadAs<D>(top.diff_tensor(), layout);
    const T* normalized = needs_input ? ReadAs<T>(normalized_.data_tensor(), layout) : nullptr;
    vector<double> sum(channels_), dot(channels_);
    if constexpr (kFloat) {
      if (blocked) {
        kernels::BlockedSums(Blocked(layout), dy, normalized, sum.data(), dot.data());
      }
    }
    if (needs_input && !blocked) {
      kernels::ChannelSums(OrderIn(layout, num_, channels_, spatial_), dy, normalized, sum.data(),
                           dot.data());
    }
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
    if constexpr (kFloat) {
      if (blocked) {
        const bool all = batch_statistics;
        return kernels::BlockedCombine(Blocked(layout), factor.data(), dy,
                                       all ? of_normalized.data() : nullptr,
                                       all ? normalized : nullptr, all ? term.data() : nullptr, dx);
      }
    }
    if (batch_statistics) {
      kernels::ChannelCombine(OrderIn(layout, num_, channels_, spatial_), factor.data(), dy,
                              of_normalized.data(), normalized, term.data(), dx);
    } else {
      kernels::ChannelAffine<D>(OrderIn(layout, num_, channels_, spatial_), factor.data(), nullptr,
                                dy, dx);
    }
  });
}

template class ChannelNormalization<float>;
template class ChannelNormalization<double>;

}  // namespace caffe
