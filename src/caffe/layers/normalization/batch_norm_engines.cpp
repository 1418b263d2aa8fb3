// BatchNorm on engines ONEDNN and REFERENCE.
#include <algorithm>

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/layers/batch_norm_layer.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {
namespace {

/// Measured by benchmarks/engines: ours are.
constexpr bool kOneDnnIsFaster = false;

template <typename To, typename From>
vector<To> Converted(const From* values, size_t count) {
  return vector<To>(values, values + count);
}

}  // namespace

/// What a pass leaves for the next.
template <typename Dtype>
struct BatchNormLayer<Dtype>::Engines {
  onednn::ForShape<onednn::BatchNorm> for_shape;
  onednn::BatchNorm* primitive = nullptr;  // of the latest forward pass
  bool reference = false;                  // computed the latest forward pass
  // With keeps_for_backward(); the bottom may have been overwritten by then.
  Blob<Dtype> input;
  vector<double> mean, variance;

  template <typename T>
  void Keep(const Blob<Dtype>& bottom, const Layout& layout) {
    input.set_data_type(kElementType<T>);
    input.ReshapeLike(bottom);
    std::copy_n(ReadAs<T>(bottom.data_tensor(), layout), layout.extent(bottom.count()),
                OverwriteAs<T>(input.data_tensor(), layout));
  }
};

template <typename Dtype>
bool BatchNormLayer<Dtype>::ForwardByEngine(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  const bool reference = engine_ == Engine::REFERENCE;
  const bool wanted = reference || onednn::IsWanted<Dtype>(engine_, this->types(), kOneDnnIsFaster);
  if (!wanted || bottom.count() == 0) {
    engines_.reset();
    return false;
  }
  if (!engines_) engines_ = std::make_shared<Engines>();
  engines_->mean.resize(channels_);
  engines_->variance.resize(channels_);
  engines_->reference = reference;
  engines_->primitive = nullptr;
  if (use_global_stats_) GlobalStatistics(&engines_->mean, &engines_->variance);
  if (reference) {
    ForwardReference(bottom, top);
  } else if (!ForwardOneDnn(bottom, top)) {
    return false;
  }
  if (!use_global_stats_) UpdateGlobalStatistics(engines_->mean, engines_->variance);
  return true;
}

template <typename Dtype>
void BatchNormLayer<Dtype>::ForwardReference(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  const size_t num = bottom.num_axes() == 0 ? 1 : bottom.shape(0);
  const size_t spatial = bottom.count() / (num * channels_);
  vector<double> scale, shift;
  if (scale_bias_) {
    scale = Converted<double>(this->blobs_[3]->template cpu_data_as<Dtype>(), channels_);
    shift = Converted<double>(this->blobs_[4]->template cpu_data_as<Dtype>(), channels_);
  }
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    if (this->keeps_for_backward()) engines_->template Keep<T>(bottom, Layout());
    const T* x = bottom.template cpu_data_as<T>();
    double* mean = engines_->mean.data();
    double* variance = engines_->variance.data();
    if (!use_global_stats_) {
      kernels::ReferenceMoments(num, channels_, spatial, x, mean, variance);
    }
    kernels::ReferenceBatchNorm(num, channels_, spatial, x, mean, variance, double(eps_),
                                scale_bias_ ? scale.data() : nullptr,
                                scale_bias_ ? shift.data() : nullptr,
                                top->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
bool BatchNormLayer<Dtype>::ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  if (bottom.num_axes() < 2) return false;
  const Layout layout = BlockedLayoutFor<float>(bottom.data_tensor(), bottom.shape());
  engines_->primitive = engines_->for_shape.Get(bottom.shape(), layout, [&] {
    onednn::BatchNorm::Options options;
    options.eps = static_cast<float>(eps_);
    options.global_statistics = use_global_stats_;
    options.scale = scale_bias_;
    // Else it computes no statistics and no gradients.
    options.training = this->keeps_for_backward() || !use_global_stats_;
    return onednn::BatchNorm::Make(bottom.shape(0), channels_, bottom.count(2), options, layout);
  });
  if (!engines_->primitive) return false;
  if (this->keeps_for_backward()) engines_->template Keep<float>(bottom, layout);
  vector<float> mean = Converted<float>(engines_->mean.data(), channels_);
  vector<float> variance = Converted<float>(engines_->variance.data(), channels_);
  const float* x = ReadAs<float>(bottom.data_tensor(), layout);
  engines_->primitive->Forward(
      x, scale_bias_ ? this->blobs_[3]->template cpu_data_as<float>() : nullptr,
      scale_bias_ ? this->blobs_[4]->template cpu_data_as<float>() : nullptr, mean.data(),
      variance.data(), OverwriteAs<float>(top->data_tensor(), layout));
  if (use_global_stats_) return true;
  engines_->mean = Converted<double>(mean.data(), channels_);
  engines_->variance = Converted<double>(variance.data(), channels_);
  return true;
}

template <typename Dtype>
bool BatchNormLayer<Dtype>::BackwardByEngine(const Blob<Dtype>& top,
                                             const vector<bool>& propagate_down,
                                             Blob<Dtype>* bottom) {
  if (!engines_ || !(engines_->reference || engines_->primitive)) return false;
  if (!this->keeps_for_backward()) {
    normalization_.SetStatistics(engines_->mean, engines_->variance, eps_);
    return false;
  }
  const size_t num = top.num_axes() == 0 ? 1 : top.shape(0);
  const size_t spatial = top.count() / (num * channels_);
  vector<double> d_scale(channels_), d_shift(channels_);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = engines_->primitive ? engines_->for_shape.layout() : Layout();
    const D* dy = ReadAs<D>(top.diff_tensor(), layout);
    const T* x = ReadAs<T>(engines_->input.data_tensor(), layout);
    const size_t extent = layout.extent(top.count());
    Workspace::Buffer<D> unwanted(Context::Current().workspace(), propagate_down[0] ? 0 : extent);
    D* dx = propagate_down[0] ? OverwriteAs<D>(bottom->diff_tensor(), layout) : unwanted.get();
    if constexpr (std::is_same<T, float>::value && std::is_same<D, float>::value) {
      if (engines_->primitive) {
        const vector<float> mean = Converted<float>(engines_->mean.data(), channels_);
        const vector<float> variance = Converted<float>(engines_->variance.data(), channels_);
        vector<float> scale_gradient(channels_), shift_gradient(channels_);
        engines_->primitive->Backward(
            x, scale_bias_ ? this->blobs_[3]->template cpu_data_as<float>() : nullptr, mean.data(),
            variance.data(), dy, dx, scale_gradient.data(), shift_gradient.data());
        d_scale = Converted<double>(scale_gradient.data(), channels_);
        d_shift = Converted<double>(shift_gradient.data(), channels_);
        return;
      }
    }
    vector<double> scale;
    if (scale_bias_)
      scale = Converted<double>(this->blobs_[3]->template cpu_data_as<Dtype>(), channels_);
    kernels::ReferenceBatchNormBackward(num, channels_, spatial, x, engines_->mean.data(),
                                        engines_->variance.data(), double(eps_),
                                        scale_bias_ ? scale.data() : nullptr, !use_global_stats_,
                                        dy, dx, d_scale.data(), d_shift.data());
  });
  for (int i = 3; i < static_cast<int>(this->blobs_.size()); ++i) {
    if (!this->param_propagate_down_[i]) continue;
    const vector<double>& gradient = i == 3 ? d_scale : d_shift;
    Dtype* diff = this->blobs_[i]->mutable_cpu_diff();
    for (int c = 0; c < channels_; ++c) diff[c] += static_cast<Dtype>(gradient[c]);
  }
  return true;
}

template <typename Dtype>
const char* BatchNormLayer<Dtype>::forward_engine() const {
  return EngineName(engines_ && engines_->primitive, engines_ && engines_->reference);
}

template struct BatchNormLayer<float>::Engines;
template struct BatchNormLayer<double>::Engines;
#define CAFFE_BATCH_NORM(Dtype)                                                                  \
  template bool BatchNormLayer<Dtype>::ForwardByEngine(const Blob<Dtype>&, Blob<Dtype>*);        \
  template bool BatchNormLayer<Dtype>::BackwardByEngine(const Blob<Dtype>&, const vector<bool>&, \
                                                        Blob<Dtype>*);                           \
  template const char* BatchNormLayer<Dtype>::forward_engine() const
CAFFE_BATCH_NORM(float);
CAFFE_BATCH_NORM(double);
#undef CAFFE_BATCH_NORM

}  // namespace caffe
