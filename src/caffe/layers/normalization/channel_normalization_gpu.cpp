#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/channel_normalization.hpp"

namespace caffe {
namespace {

/// A parameter's values on the device, null without a parameter.
template <typename F, typename Dtype>
const F* ValuesOf(const Blob<Dtype>* parameter) {
  return parameter ? parameter->template gpu_data_as<F>() : nullptr;
}

}  // namespace

template <typename Dtype>
template <typename F>
F* ChannelNormalization<Dtype>::DeviceMoments() {
  device_moments_.Reshape({2, channels_});
  return device_moments_.template mutable_gpu_data_as<F>();
}

template <typename Dtype>
template <typename T>
void ChannelNormalization<Dtype>::MomentsGpu(const Blob<Dtype>& bottom) {
  auto* moments = DeviceMoments<AccumulatorType<T>>();
  const Layout layout = cuda::ChannelLayout<T>(bottom, num_, channels_);
  const cuda::ChannelExtents e = cuda::ExtentsIn(layout, num_, channels_, spatial_);
  cuda::ChannelMoments(cuda::CurrentStream(), e.outer, e.channels, e.inner,
                       cuda::ReadData<T>(bottom, layout), moments, moments + channels_);
}

template <typename Dtype>
template <typename F>
void ChannelNormalization<Dtype>::SetStatisticsGpu(double eps) {
  device_inverse_std_.Reshape({channels_});
  const F* variance = DeviceMoments<F>() + channels_;
  cuda::InverseDeviation(cuda::CurrentStream(), channels_, variance, eps,
                         device_inverse_std_.template overwrite_gpu_data_as<F>());
}

template <typename Dtype>
template <typename T>
void ChannelNormalization<Dtype>::ForwardGpu(const Blob<Dtype>& bottom, double eps,
                                             const Blob<Dtype>* scale, const Blob<Dtype>* shift,
                                             bool keep, Blob<Dtype>* top, bool in_steps,
                                             double slope) {
  using F = AccumulatorType<T>;
  SetStatisticsGpu<F>(eps);
  const Layout layout = cuda::ChannelLayout<T>(bottom, num_, channels_);
  const cuda::ChannelExtents e = cuda::ExtentsIn(layout, num_, channels_, spatial_);
  const T* x = cuda::ReadData<T>(bottom, layout);
  T* normalized = nullptr;
  if (keep) {
    normalized_.set_data_type(kElementType<T>);
    normalized_.ReshapeLike(bottom);
    normalized = cuda::OverwriteData<T>(layout, &normalized_);
  }
  cuda::BatchNormForward(cuda::CurrentStream(), e.outer, e.channels, e.inner, DeviceMoments<F>(),
                         device_inverse_std_.template gpu_data_as<F>(), ValuesOf<F>(scale),
                         ValuesOf<F>(shift), x, normalized, cuda::OverwriteData<T>(layout, top),
                         in_steps, static_cast<F>(slope));
}

template <typename Dtype>
template <typename T>
void ChannelNormalization<Dtype>::NormalizeGpu(const Blob<Dtype>& input, Blob<Dtype>* normalized) {
  using F = AccumulatorType<T>;
  const Layout layout = cuda::ChannelLayout<T>(input, num_, channels_);
  const cuda::ChannelExtents e = cuda::ExtentsIn(layout, num_, channels_, spatial_);
  const T* x = cuda::ReadData<T>(input, layout);
  normalized->set_data_type(kElementType<T>);
  normalized->ReshapeLike(input);
  cuda::BatchNormForward<T>(cuda::CurrentStream(), e.outer, e.channels, e.inner, DeviceMoments<F>(),
                            device_inverse_std_.template gpu_data_as<F>(), nullptr, nullptr, x,
                            nullptr, cuda::OverwriteData<T>(layout, normalized));
}

// The formula: channel_normalization.cpp.
template <typename Dtype>
template <typename T, typename D>
void ChannelNormalization<Dtype>::BackwardGpuAs(const Blob<Dtype>* input, const Blob<Dtype>& top,
                                                bool batch_statistics, const Blob<Dtype>* scale,
                                                const Gradients& gradients,
                                                const Blob<Dtype>* shift, double slope) {
  using G = AccumulatorType<D>;
  Stream& stream = cuda::CurrentStream();
  const bool sums_wanted =
      gradients.scale || gradients.shift || (batch_statistics && gradients.bottom);
  const bool needs_input = sums_wanted || slope != 1;
  const bool kept = normalized_.count() == top.count();
  Blob<Dtype> computed;
  if (needs_input && !kept) {
    RequireInput(input, device_inverse_std_.count());
    NormalizeGpu<T>(*input, &computed);
  }
  const Blob<Dtype>& normalized_input = kept ? normalized_ : computed;
  const Layout layout =
      cuda::ChannelLayout<T>(needs_input ? normalized_input : top, num_, channels_);
  const cuda::ChannelExtents e = cuda::ExtentsIn(layout, num_, channels_, spatial_);
  const D* dy = cuda::ReadDiff<D>(top, layout);
  const T* normalized = needs_input ? cuda::ReadData<T>(normalized_input, layout) : nullptr;
  const cuda::ReluBehind<G> relu = {static_cast<G>(slope), ValuesOf<G>(scale), ValuesOf<G>(shift)};
  const cuda::Buffer<double> sums(stream, 2 * channels_);
  double* sum = sums.get();
  double* dot = sums.get() + channels_;
  if (sums_wanted) {
    cuda::BatchNormSums(stream, e.outer, e.channels, e.inner, normalized, relu, dy, sum, dot);
  }
  const auto add = [&](const double* values, Blob<Dtype>* parameter) {
    if (!parameter) return;
    cuda::Axpby(stream, channels_, G(1), values, G(1),
                parameter->template mutable_gpu_diff_as<G>());
  };
  add(dot, gradients.scale);
  add(sum, gradients.shift);
  if (!gradients.bottom) return;
  if (batch_statistics) {
    cuda::Scale<double>(stream, 2 * channels_, 1 / values_per_channel(), sum, sum);
  }
  cuda::BatchNormBackward(stream, e.outer, e.channels, e.inner, ValuesOf<G>(scale),
                          device_inverse_std_.template gpu_data_as<G>(),
                          batch_statistics ? sum : nullptr, dot, normalized, relu, dy,
                          cuda::OverwriteDiff<D>(layout, gradients.bottom));
}

template <typename Dtype>
void ChannelNormalization<Dtype>::BackwardGpu(const LayerTypes& types, const Blob<Dtype>* input,
                                              const Blob<Dtype>& top, bool batch_statistics,
                                              const Blob<Dtype>* scale, const Gradients& gradients,
                                              const Blob<Dtype>* shift, double slope) {
  if (top.count() == 0) return;
  Dispatch(types.forward_type, types.backward_type, [&](auto data_tag, auto diff_tag) {
    BackwardGpuAs<decltype(data_tag), decltype(diff_tag)>(input, top, batch_statistics, scale,
                                                          gradients, shift, slope);
  });
}

#define INSTANTIATE_FORWARD(Dtype, T)                                                              \
  template void ChannelNormalization<Dtype>::MomentsGpu<T>(const Blob<Dtype>&);                    \
  template void ChannelNormalization<Dtype>::ForwardGpu<T>(const Blob<Dtype>&, double,             \
                                                           const Blob<Dtype>*, const Blob<Dtype>*, \
                                                           bool, Blob<Dtype>*, bool, double);
#define INSTANTIATE(Dtype)                                                                 \
  template float* ChannelNormalization<Dtype>::DeviceMoments<float>();                     \
  template double* ChannelNormalization<Dtype>::DeviceMoments<double>();                   \
  template void ChannelNormalization<Dtype>::SetStatisticsGpu<float>(double);              \
  template void ChannelNormalization<Dtype>::SetStatisticsGpu<double>(double);             \
  INSTANTIATE_FORWARD(Dtype, float)                                                        \
  INSTANTIATE_FORWARD(Dtype, double)                                                       \
  INSTANTIATE_FORWARD(Dtype, float16)                                                      \
  template void ChannelNormalization<Dtype>::BackwardGpu(                                  \
      const LayerTypes&, const Blob<Dtype>*, const Blob<Dtype>&, bool, const Blob<Dtype>*, \
      const Gradients&, const Blob<Dtype>*, double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE
#undef INSTANTIATE_FORWARD

}  // namespace caffe
