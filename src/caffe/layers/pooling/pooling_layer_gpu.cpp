#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/pooling.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/layers/pooling_layer.hpp"

namespace caffe {

template <typename Dtype>
kernels::PoolingShape PoolingLayer<Dtype>::GpuShape() const {
  kernels::PoolingShape shape = *shape_;
  shape.planes /= gpu_channels();
  return shape;
}

// Calls f with the mask, a byte an output where bytes are enough, to be written or read.
template <typename Dtype>
template <typename Function>
void PoolingLayer<Dtype>::WithGpuMask(Function&& f) {
  const bool bytes = kernels::ByteMask(*shape_);
  const size_t size = shape_->planes * shape_->output_plane() * (bytes ? 1 : sizeof(int));
  if (!gpu_mask_ || gpu_mask_->size() != size) gpu_mask_ = std::make_shared<SyncedMemory>(size);
  void* mask = gpu_mask_->overwrite_gpu_data();
  bytes ? f(static_cast<uint8_t*>(mask)) : f(static_cast<int*>(mask));
}

template <typename Dtype>
template <typename T>
void PoolingLayer<Dtype>::PoolMaximaGpu(const T* x, T* y, Blob<Dtype>* positions) {
  Stream& stream = cuda::CurrentStream();
  if (this->phase_ == TEST && !positions) {
    cuda::MaxPoolingForward<T, int>(stream, GpuShape(), x, y, nullptr, gpu_channels());
    return;
  }
  WithGpuMask([&](auto* mask) {
    cuda::MaxPoolingForward(stream, GpuShape(), x, y, mask, gpu_channels());
    if (positions) {
      using I = std::remove_pointer_t<decltype(mask)>;
      cuda::MaskPositions<I, Dtype>(stream, *shape_, mask,
                                    positions->template overwrite_gpu_data_as<Dtype>());
    }
  });
}

// Drawn on the host, one an output in their order: a seed gives what it gives on the CPU.
template <typename Dtype>
template <typename T>
void PoolingLayer<Dtype>::PoolAtRandomGpu(const T* x, T* y) {
  const size_t count = shape_->planes * shape_->output_plane();
  SyncedMemory draws(count * sizeof(float));
  caffe_rng_uniform<float>(static_cast<int>(count), 0, 1,
                           static_cast<float*>(draws.overwrite_cpu_data()));
  const float* on_device = static_cast<const float*>(draws.gpu_data());
  WithGpuMask([&](auto* mask) {
    cuda::StochasticPoolingForward(cuda::CurrentStream(), *shape_, x, on_device, y, mask);
  });
}

// Positions, and draws one an output, are in Caffe's order.
template <typename Dtype>
void PoolingLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  if (this->phase_ == TEST) gpu_mask_.reset();
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const bool in_order = top.size() > 1 || method() == PoolingParameter_PoolMethod_STOCHASTIC;
    gpu_layout_ = in_order ? Layout() : cuda::StoredLayout<T>(*bottom[0]);
    const Layout pooled =
        gpu_layout_.kind == Layout::PLAIN ? Layout() : cuda::ChannelsLast(top[0]->shape());
    const T* x = cuda::ReadData<T>(*bottom[0], gpu_layout_);
    T* y = cuda::OverwriteData<T>(pooled, top[0]);
    if (method() == PoolingParameter_PoolMethod_MAX) {
      PoolMaximaGpu(x, y, top.size() > 1 ? top[1] : nullptr);
    } else if (method() == PoolingParameter_PoolMethod_AVE) {
      cuda::AveragePoolingForward(stream, GpuShape(), x, y, gpu_channels());
    } else if (this->phase_ == TRAIN) {
      PoolAtRandomGpu(x, y);
    } else {
      cuda::ExpectedPoolingForward(stream, *shape_, x, y);
    }
  });
}

// A TEST net that is asked for gradients all the same finds the maxima again.
template <typename Dtype>
void PoolingLayer<Dtype>::FindGpuMask(const Blob<Dtype>& bottom) {
  if (gpu_mask_) return;
  Require(method() == PoolingParameter_PoolMethod_MAX, Error::Field{"pooling_param"},
          ": pool STOCHASTIC has a gradient in the TRAIN phase only");
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const cuda::Buffer<T> pooled(stream, shape_->planes * shape_->output_plane());
    WithGpuMask([&](auto* mask) {
      cuda::MaxPoolingForward(stream, GpuShape(), cuda::ReadData<T>(bottom, gpu_layout_),
                              pooled.get(), mask, gpu_channels());
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
    const Layout pooled =
        gpu_layout_.kind == Layout::PLAIN ? Layout() : cuda::ChannelsLast(top[0]->shape());
    const D* dy = cuda::ReadDiff<D>(*top[0], pooled);
    D* dx = cuda::OverwriteDiff<D>(gpu_layout_, bottom[0]);
    if (method() == PoolingParameter_PoolMethod_AVE) {
      cuda::AveragePoolingBackward(stream, GpuShape(), dy, dx, gpu_channels());
    } else {
      WithGpuMask([&](auto* mask) {
        cuda::MaskPoolingBackward(stream, GpuShape(), dy, mask, dx, gpu_channels());
      });
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(PoolingLayer);

}  // namespace caffe
