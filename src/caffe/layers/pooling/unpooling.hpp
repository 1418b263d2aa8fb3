#ifndef CAFFE_LAYERS_UNPOOLING_HPP_
#define CAFFE_LAYERS_UNPOOLING_HPP_

#include "caffe/blob.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/resize.hpp"
#include "caffe/kernels/pooling.hpp"

namespace caffe {

/// Writes the values of `bottom` (N, C, H, W) where the pooling that made `mask` (the same shape)
/// found its maxima: flat positions in each of top's planes. The rest of `top` is zero. T is the
/// storage type.
template <typename T, typename Dtype>
void Unpool(const Blob<Dtype>& bottom, const Blob<Dtype>& mask, Blob<Dtype>* top) {
  kernels::UnpoolingForward(bottom.count(0, 2), bottom.count(2), top->count(2),
                            bottom.template cpu_data_as<T>(), mask.cpu_data(),
                            top->template overwrite_cpu_data_as<T>());
}

/// The gradient of Unpool with respect to `bottom`, written. D is the storage type of gradients.
template <typename D, typename Dtype>
void UnpoolGradient(const Blob<Dtype>& top, const Blob<Dtype>& mask, Blob<Dtype>* bottom) {
  kernels::UnpoolingBackward(bottom->count(0, 2), bottom->count(2), top.count(2),
                             top.template cpu_diff_as<D>(), mask.cpu_data(),
                             bottom->template overwrite_cpu_diff_as<D>());
}

#ifndef CPU_ONLY
/// The same on a GPU, where a position outside makes NaN, not an Error.
template <typename T, typename Dtype>
void UnpoolOnGpu(const Blob<Dtype>& bottom, const Blob<Dtype>& mask, Blob<Dtype>* top) {
  cuda::Unpool(cuda::CurrentStream(), bottom.count(0, 2), bottom.count(2), top->count(2),
               bottom.template gpu_data_as<T>(), mask.gpu_data(),
               top->template overwrite_gpu_data_as<T>());
}
template <typename D, typename Dtype>
void UnpoolGradientOnGpu(const Blob<Dtype>& top, const Blob<Dtype>& mask, Blob<Dtype>* bottom) {
  cuda::UnpoolGradient(cuda::CurrentStream(), bottom->count(0, 2), bottom->count(2), top.count(2),
                       top.template gpu_diff_as<D>(), mask.gpu_data(),
                       bottom->template overwrite_gpu_diff_as<D>());
}
#endif

}  // namespace caffe

#endif  // CAFFE_LAYERS_UNPOOLING_HPP_
