#ifndef CAFFE_KERNELS_CUDA_SOFTMAX_HPP_
#define CAFFE_KERNELS_CUDA_SOFTMAX_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/cuda/labels.hpp"

namespace caffe::cuda {

// Arrays of shape (outer, channels, inner) in device memory; softmax goes over the channels, as in
// kernels/softmax.hpp. A position is one of (outer, inner). Label is float or double.

template <typename T>
void Softmax(Stream& stream, int outer, int channels, int inner, const T* x, T* y);
template <typename T, typename D>
void SoftmaxGradient(Stream& stream, int outer, int channels, int inner, const T* y, const D* dy,
                     D* dx);

/// SoftmaxWithLoss's inputs besides the scores.
template <typename Label>
struct SoftmaxTargets {
  Labels<Label> labels;  ///< one for each position
  const float* weights;  ///< one for each class; null: all are 1
  float smoothing;       ///< of the target's 1, spread over all classes
};

/// *loss = the sum over the positions of weight times cross entropy, divided by `divisor`, or, if
/// that is negative, by the number of labels that are not ignored; *divided_by becomes that.
template <typename T, typename Label>
void SoftmaxLoss(Stream& stream, int outer, int channels, int inner, const T* x,
                 const SoftmaxTargets<Label>& targets, double divisor, Label* loss,
                 Label* divided_by);
/// Its gradient times *top_diff / *divided_by.
template <typename T, typename D, typename Label>
void SoftmaxLossGradient(Stream& stream, int outer, int channels, int inner, const T* x,
                         const SoftmaxTargets<Label>& targets, const Label* top_diff,
                         const Label* divided_by, D* dx);
/// each[position] = the position's cross entropy, without weight and smoothing; 0 if ignored.
template <typename Label>
void SoftmaxLossOfEach(Stream& stream, int outer, int channels, int inner, const Label* x,
                       const Labels<Label>& labels, Label* each);

/// *loss = minus the sum over the positions and k of matrix[label, k] log softmax(x)[k], divided
/// as in SoftmaxLoss. The matrix is (channels, channels).
template <typename T>
void InfogainLoss(Stream& stream, int outer, int channels, int inner, const T* x,
                  const Labels<T>& labels, const T* matrix, double divisor, T* loss, T* divided_by);
template <typename T>
void InfogainLossGradient(Stream& stream, int outer, int channels, int inner, const T* x,
                          const Labels<T>& labels, const T* matrix, const T* top_diff,
                          const T* divided_by, T* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_SOFTMAX_HPP_
