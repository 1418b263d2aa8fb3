#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/layers/batch_norm_layer.hpp"

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
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    if (use_global_stats_) {
      GlobalStatisticsGpu<F>();
    } else {
      normalization_.template MomentsGpu<T>(*bottom[0]);
      if (bottom[0]->count() > 0) UpdateGlobalStatisticsGpu<F>();
    }
    normalization_.template ForwardGpu<T>(*bottom[0], eps_, ScaleBlob(/*fused=*/false),
                                          ShiftBlob(/*fused=*/false), KeepsInput(), top[0]);
  });
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  if (use_global_stats_) {
    Dispatch(this->forward_type(), this->backward_type(), [&](auto, auto diff_tag) {
      using G = AccumulatorType<decltype(diff_tag)>;
      GlobalStatisticsGpu<G>();
      normalization_.template SetStatisticsGpu<G>(eps_);
    });
  }
  normalization_.BackwardGpu(
      this->types(), bottom[0] == top[0] ? nullptr : bottom[0], *top[0], !use_global_stats_,
      ScaleBlob(/*fused=*/false),
      WantedGradients(*top[0], propagate_down[0], /*fused=*/false, bottom[0]));
}

INSTANTIATE_LAYER_GPU_FUNCS(BatchNormLayer);

}  // namespace caffe
