#ifndef CAFFE_KERNELS_CUDA_NUMBERS_HPP_
#define CAFFE_KERNELS_CUDA_NUMBERS_HPP_

// For .cu files: whole numbers that blobs hold as float or double.

#include <cuda_runtime.h>

#include "caffe/kernels/cuda/labels.hpp"

namespace caffe::cuda {

/// `value` if it is a whole number in [0, end), else -1.
template <typename Value>
__host__ __device__ inline int WholeNumber(Value value, int end) {
  if (!(value >= Value(0) && value < Value(2147483648.))) return -1;  // true for a NaN too
  const int number = static_cast<int>(value);
  return number < end && Value(number) == value ? number : -1;
}
__host__ __device__ inline int WholeNumber(int value, int end) {
  return value >= 0 && value < end ? value : -1;
}

constexpr int kIgnored = -1, kInvalid = -2;

/// ReadLabel's result for label i: fractions are truncated; kIgnored or kInvalid if there is none.
template <typename Value>
__host__ __device__ inline int LabelAt(const Labels<Value>& labels, int i) {
  const Value value = labels.values[i];
  if (!(value > Value(-2147483648.) && value < Value(2147483648.))) return kInvalid;
  const int label = static_cast<int>(value);
  if (labels.has_ignored && label == labels.ignored) return kIgnored;
  return label >= 0 && label < labels.classes ? label : kInvalid;
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_NUMBERS_HPP_
