#ifndef CAFFE_KERNELS_CUDA_LABELS_HPP_
#define CAFFE_KERNELS_CUDA_LABELS_HPP_

namespace caffe::cuda {

/// Labels in device memory, numbers of `classes` classes. Kernels cannot refuse one that is out of
/// range: the loss is then NaN, and the gradient of what it belongs to.
template <typename Value>
struct Labels {
  const Value* values;
  int classes;
  bool has_ignored;  ///< there is a label that counts for nothing:
  int ignored;
};

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_LABELS_HPP_
