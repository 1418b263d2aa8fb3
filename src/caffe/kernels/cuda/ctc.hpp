#ifndef CAFFE_KERNELS_CUDA_CTC_HPP_
#define CAFFE_KERNELS_CUDA_CTC_HPP_

#include "caffe/device.hpp"

namespace caffe::cuda {

/// `sequences` targets in device memory: number n is label[n * most], ... (length[n] of them), for
/// the first steps[n] steps.
struct CtcTargets {
  int sequences, most, blank;
  const int *steps, *length, *label;
};

/// *loss = the mean of kernels::CtcLoss over the sequences of logits (steps, sequences, classes);
/// infinite losses count as 0. T: float, double; sums are double.
template <typename T>
void CtcLoss(Stream& stream, int steps, int classes, const T* logits, const CtcTargets& targets,
             T* loss);
/// Its gradient times *top_diff / divisor instead of the mean.
template <typename T>
void CtcLossGradient(Stream& stream, int steps, int classes, const T* logits,
                     const CtcTargets& targets, double divisor, const T* top_diff, T* gradient);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_CTC_HPP_
