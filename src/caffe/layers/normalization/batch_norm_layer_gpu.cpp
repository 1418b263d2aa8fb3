#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/layers/batch_norm_layer.hpp"
#include "caffe/layers/scale_layer.hpp"

namespace caffe {

template <typename Dtype>
template <typename F>
void BatchNormLayer<Dtype>::GlobalStatisticsGpu() {
  F* moments = normalization_.template DeviceMoments<F>();
  cuda::WeightedAverages(cuda::CurrentStream(), channels_,
                         this->blobs_[0]->template gpu_data_as<F>(),
                         this->blobs_[1]->template gpu_data_as<F>(),
                         this->blobs_[2]->template gpu_data_as<F>(), moments, moments + channels_);
}

// As UpdateGlobalStatistics.
template <typename Dtype>
template <typename F>
void BatchNormLayer<Dtype>::UpdateGlobalStatisticsGpu() {
  const double m = normalization_.values_per_channel();
  const double unbiased = m > 1 ? m / (m - 1) : 1;
  const double keep = moving_average_fraction_;
  const F* moments = normalization_.template DeviceMoments<F>();
  cuda::UpdateAverages(cuda::CurrentStream(), channels_, keep, scale_bias_ ? 1 - keep : 1, unbiased,
                       /*copies_first=*/scale_bias_, moments, moments + channels_,
                       this->blobs_[0]->template mutable_gpu_data_as<F>(),
                       this->blobs_[1]->template mutable_gpu_data_as<F>(),
                       scale_bias_ ? nullptr : this->blobs_[2]->template mutable_gpu_data_as<F>());
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  RunForwardGpu(*bottom[0], /*fused=*/false, top[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Forward_fused_gpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  RunForwardGpu(*bottom[0], /*fused=*/true, top[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::RunForwardGpu(const Blob<Dtype>& bottom, bool fused, Blob<Dtype>* top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    if (use_global_stats_) {
      GlobalStatisticsGpu<F>();
    } else {
      normalization_.template MomentsGpu<T>(bottom);
      if (bottom.count() > 0) UpdateGlobalStatisticsGpu<F>();
    }
    normalization_.template ForwardGpu<T>(bottom, eps_, ScaleBlob(fused), ShiftBlob(fused),
                                          KeepsInput(), top, /*in_steps=*/fused,
                                          fused ? slope_ : 1);
  });
  if (fused && scale_) scale_->SetInput(normalization_.normalized());
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  RunBackwardGpu(*top[0], propagate_down, /*fused=*/false, bottom[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Backward_fused_gpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  RunBackwardGpu(*top[0], propagate_down, /*fused=*/true, bottom[0]);
}

template <typename Dtype>
void BatchNormLayer<Dtype>::RunBackwardGpu(const Blob<Dtype>& top,
                                           const vector<bool>& propagate_down, bool fused,
                                           Blob<Dtype>* bottom) {
  if (use_global_stats_) {
    Dispatch(this->forward_type(), this->backward_type(), [&](auto, auto diff_tag) {
      using G = AccumulatorType<decltype(diff_tag)>;
      GlobalStatisticsGpu<G>();
      normalization_.template SetStatisticsGpu<G>(eps_);
    });
  }
  normalization_.BackwardGpu(
      this->types(), bottom == &top ? nullptr : bottom, top, !use_global_stats_, ScaleBlob(fused),
      WantedGradients(top, propagate_down[0], fused, bottom), ShiftBlob(fused), fused ? slope_ : 1);
}

INSTANTIATE_LAYER_GPU_FUNCS(BatchNormLayer);
#define INSTANTIATE_FUSED(Dtype)                                                       \
  template void BatchNormLayer<Dtype>::Forward_fused_gpu(const vector<Blob<Dtype>*>&,  \
                                                         const vector<Blob<Dtype>*>&); \
  template void BatchNormLayer<Dtype>::Backward_fused_gpu(                             \
      const vector<Blob<Dtype>*>&, const vector<bool>&, const vector<Blob<Dtype>*>&);
INSTANTIATE_FUSED(float)
INSTANTIATE_FUSED(double)
#undef INSTANTIATE_FUSED

}  // namespace caffe
