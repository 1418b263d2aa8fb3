#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/bn_layer.hpp"

namespace caffe {

// The mean and the variance of this pass.
template <typename Dtype>
template <typename T>
void BNLayer<Dtype>::FindStatisticsGpu(const Blob<Dtype>& bottom) {
  using F = AccumulatorType<T>;
  Stream& stream = cuda::CurrentStream();
  const int channels = normalization_.channels();
  F* moments = normalization_.template DeviceMoments<F>();
  if (statistics() == Statistics::BATCH) {
    normalization_.template MomentsGpu<T>(bottom);
    if (segnet_ || bottom.count() == 0) return;
    const double keep = this->layer_param_.bn_param().momentum();
    cuda::UpdateAverages<F>(stream, channels, keep, 1 - keep, 1, /*copies_first=*/false, moments,
                            moments + channels, this->blobs_[2]->template mutable_gpu_data_as<F>(),
                            this->blobs_[3]->template mutable_gpu_data_as<F>(), nullptr);
  } else if (statistics() == Statistics::STORED) {
    cuda::Convert(stream, channels, this->blobs_[2]->template gpu_data_as<F>(), moments);
    cuda::Convert(stream, channels, this->blobs_[3]->template gpu_data_as<F>(), moments + channels);
  } else {
    cuda::Fill<F>(stream, channels, F(0), moments);
    cuda::Fill<F>(stream, channels, F(1), moments + channels);
  }
}

template <typename Dtype>
void BNLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const int channels = normalization_.channels();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    FindStatisticsGpu<T>(*bottom[0]);
    for (size_t i = 1; i < top.size(); ++i) {
      const F* moments = normalization_.template DeviceMoments<F>() + (i - 1) * channels;
      cuda::Convert(cuda::CurrentStream(), channels, moments,
                    top[i]->template overwrite_gpu_data_as<Dtype>());
    }
    normalization_.template ForwardGpu<T>(*bottom[0], statistics() == Statistics::NONE ? 0 : eps_,
                                          this->blobs_[0].get(), this->blobs_[1].get(),
                                          this->keeps_for_backward(), top[0]);
  });
}

template <typename Dtype>
void BNLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  normalization_.BackwardGpu(this->types(), bottom[0] == top[0] ? nullptr : bottom[0], *top[0],
                             statistics() == Statistics::BATCH, this->blobs_[0].get(),
                             WantedGradients(*top[0], propagate_down[0], bottom[0]));
}

INSTANTIATE_LAYER_GPU_FUNCS(BNLayer);

}  // namespace caffe
