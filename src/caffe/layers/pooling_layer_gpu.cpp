#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/pooling.hpp"
#include "caffe/layers/pooling_layer.hpp"

namespace caffe {

// Calls f with the mask, a byte an output where bytes are enough, to be written or read.
template <typename Dtype>
template <typename Function>
void PoolingLayer<Dtype>::WithGpuMask(Function&& f) {
  const bool bytes = kernels::ByteMask(shape_);
  const size_t size = shape_.planes * shape_.output_plane() * (bytes ? 1 : sizeof(int));
  if (!gpu_mask_ || gpu_mask_->size() != size) gpu_mask_ = std::make_shared<SyncedMemory>(size);
  void* mask = gpu_mask_->overwrite_gpu_data();
  bytes ? f(static_cast<uint8_t*>(mask)) : f(static_cast<int*>(mask));
}

template <typename Dtype>
template <typename T>
void PoolingLayer<Dtype>::PoolMaximaGpu(const T* x, T* y, Blob<Dtype>* positions) {
  Stream& stream = cuda::CurrentStream();
  if (this->phase_ == TEST && !positions) {
    cuda::MaxPoolingForward<T, int>(stream, shape_, x, y, nullptr);
    return;
  }
  WithGpuMask([&](auto* mask) {
    cuda::MaxPoolingForward(stream, shape_, x, y, mask);
    if (positions) {
      using I = std::remove_pointer_t<decltype(mask)>;
      cuda::MaskPositions<I, Dtype>(stream, shape_, mask,
                                    positions->template overwrite_gpu_data_as<Dtype>());
    }
  });
}

// Drawn on the host, one an output in their order: a seed gives what it gives on the CPU.
template <typename Dtype>
template <typename T>
void PoolingLayer<Dtype>::PoolAtRandomGpu(const T* x, T* y) {
  const size_t count = shape_.planes * shape_.output_plane();
  SyncedMemory draws(count * sizeof(float));
  caffe_rng_uniform<float>(static_cast<int>(count), 0, 1,
                           static_cast<float*>(draws.overwrite_cpu_data()));
  const float* on_device = static_cast<const float*>(draws.gpu_data());
  WithGpuMask([&](auto* mask) {
    cuda::StochasticPoolingForward(cuda::CurrentStream(), shape_, x, on_device, y, mask);
  });
}

template <typename Dtype>
void PoolingLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  if (this->phase_ == TEST) gpu_mask_.reset();
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    T* y = top[0]->template overwrite_gpu_data_as<T>();
    if (method() == PoolingParameter_PoolMethod_MAX) {
      PoolMaximaGpu(x, y, top.size() > 1 ? top[1] : nullptr);
    } else if (method() == PoolingParameter_PoolMethod_AVE) {
      cuda::AveragePoolingForward(stream, shape_, x, y);
    } else if (this->phase_ == TRAIN) {
      PoolAtRandomGpu(x, y);
    } else {
      cuda::ExpectedPoolingForward(stream, shape_, x, y);
    }
  });
}

// A TEST net that is asked for gradients all the same finds the maxima again.
template <typename Dtype>
void PoolingLayer<Dtype>::FindGpuMask(const Blob<Dtype>& bottom) {
  if (gpu_mask_) return;
  Require(method() == PoolingParameter_PoolMethod_MAX,
          "pooling_param: pool STOCHASTIC has a gradient in the TRAIN phase only");
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const cuda::Buffer<T> pooled(stream, shape_.planes * shape_.output_plane());
    WithGpuMask([&](auto* mask) {
      cuda::MaxPoolingForward(stream, shape_, bottom.template gpu_data_as<T>(), pooled.get(), mask);
    });
  });
}

template <typename Dtype>
void PoolingLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (method() != PoolingParameter_PoolMethod_AVE) FindGpuMask(*bottom[0]);
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    D* dx = bottom[0]->template overwrite_gpu_diff_as<D>();
    if (method() == PoolingParameter_PoolMethod_AVE) {
      cuda::AveragePoolingBackward(stream, shape_, dy, dx);
    } else {
      WithGpuMask([&](auto* mask) { cuda::MaskPoolingBackward(stream, shape_, dy, mask, dx); });
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(PoolingLayer);

}  // namespace caffe
