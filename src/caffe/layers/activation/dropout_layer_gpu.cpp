#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/dropout.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/dropout_layer.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {

template <typename Dtype>
template <typename T>
void DropoutLayer<Dtype>::ApplyOnGpu(int count, const T* x, T* y) const {
  Stream& stream = cuda::CurrentStream();
  if (drops_) {
    const uint8_t* mask = static_cast<const uint8_t*>(gpu_mask_->gpu_data());
    cuda::MaskScale<T>(stream, count, mask, scale_, x, y);
  } else {
    cuda::Scale<T>(stream, count, test_scale_, x, y);
  }
}

template <typename Dtype>
void DropoutLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const int count = bottom[0]->count();
  if (drops_) {
    // One draw of the host's generator names a sequence that the GPU computes.
    rng_t* generator = random_ ? static_cast<rng_t*>(random_->generator()) : caffe_rng();
    if (!gpu_mask_ || gpu_mask_->size() < size_t(count)) gpu_mask_.reset(new SyncedMemory(count));
    cuda::BernoulliMask(cuda::CurrentStream(), count, (*generator)(), 1 - double(threshold_),
                        static_cast<uint8_t*>(gpu_mask_->overwrite_gpu_data()));
  }
  if (!drops_ && test_scale_ == 1 && bottom[0] == top[0]) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    gpu_layout_ = cuda::StoredLayout<T>(*bottom[0]);
    const T* x = cuda::ReadData<T>(*bottom[0], gpu_layout_);
    ApplyOnGpu(count, x, cuda::OverwriteData<T>(gpu_layout_, top[0]));
  });
}

template <typename Dtype>
void DropoutLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = cuda::ReadDiff<D>(*top[0], gpu_layout_);
    ApplyOnGpu(bottom[0]->count(), dy, cuda::OverwriteDiff<D>(gpu_layout_, bottom[0]));
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(DropoutLayer);

}  // namespace caffe
