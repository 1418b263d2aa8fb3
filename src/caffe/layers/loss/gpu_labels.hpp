#ifndef CAFFE_GPU_LABELS_HPP_
#define CAFFE_GPU_LABELS_HPP_

#include "caffe/kernels/cuda/labels.hpp"
#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// Labels of `classes` classes for kernels; `ignored`, if not null, is one that counts for nothing.
/// Labels that the host has anyway are checked, as on the CPU; for others see cuda::Labels.
template <typename Dtype>
cuda::Labels<Dtype> GpuLabels(const Blob<Dtype>& labels, int classes, const int* ignored) {
  const SyncedMemory::SyncedHead head = labels.data()->head();
  if (head == SyncedMemory::HEAD_AT_CPU || head == SyncedMemory::SYNCED) {
    const Dtype* values = labels.cpu_data();
    for (int i = 0; i < labels.count(); ++i) ReadLabel(values[i], i, classes, ignored);
  }
  return {labels.gpu_data(), classes, ignored != nullptr, ignored ? *ignored : 0};
}

}  // namespace caffe

#endif  // CAFFE_GPU_LABELS_HPP_
