#ifndef CAFFE_KERNELS_SOFTMAX_HPP_
#define CAFFE_KERNELS_SOFTMAX_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"
#include "caffe/kernels/channels_last.hpp"

namespace caffe::kernels {

// Arrays of shape (outer, channels, inner); softmax goes over the channels. The largest logit is
// subtracted first, and sums are float, or double for double.

/// y[c] = exp(x[c]) / sum over k of exp(x[k]).
template <typename X, typename Y>
void Softmax(size_t outer, size_t channels, size_t inner, const X* x, Y* y);

/// The same with channels last, the padding of y being zeros; where there is none, it is the one
/// above with an inner of 1. X and Y: float, float16 or bfloat16 both. Throws Error where
/// the channels do not Check, or are fewer.
template <typename X, typename Y>
void ChannelsLastSoftmax(size_t pixels, size_t channels, const ChannelsLast& layout, const X* x,
                         Y* y);

/// dx[c] = y[c] (dy[c] - sum over k of dy[k] y[k]).
template <typename T, typename D>
void SoftmaxGradient(size_t outer, size_t channels, size_t inner, const T* y, const D* dy, D* dx);

/// log_sum[o, i] = the logarithm of the sum over k of exp(x[o, k, i]).
template <typename T>
void LogSumExp(size_t outer, size_t channels, size_t inner, const T* x,
               AccumulatorType<T>* log_sum);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_SOFTMAX_HPP_
