#ifndef CAFFE_KERNELS_CUDA_LABELS_HPP_
#define CAFFE_KERNELS_CUDA_LABELS_HPP_

namespace caffe::cuda {

/// Labels in device memory, of `classes` classes. Kernels cannot throw for one out of range: the
/// loss and the gradient of its item are then NaN.
template <typename Value>
struct Labels {
  const Value* values;
  int classes;
  bool has_ignored;  ///< one label is ignored:
  int ignored;
};

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_LABELS_HPP_
