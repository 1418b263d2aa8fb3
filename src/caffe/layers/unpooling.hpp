#ifndef CAFFE_LAYERS_UNPOOLING_HPP_
#define CAFFE_LAYERS_UNPOOLING_HPP_

#include "caffe/blob.hpp"
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

}  // namespace caffe

#endif  // CAFFE_LAYERS_UNPOOLING_HPP_
