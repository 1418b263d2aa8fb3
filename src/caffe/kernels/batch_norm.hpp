#ifndef CAFFE_KERNELS_BATCH_NORM_HPP_
#define CAFFE_KERNELS_BATCH_NORM_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

// For arrays of shape (outer, channels, inner). Threads share the channels or rows.

/// The mean and the biased variance of each channel. In two passes: squares of differences do not
/// cancel.
template <typename T>
void ChannelMoments(size_t outer, size_t channels, size_t inner, const T* x, double* mean,
                    double* variance);

/// y = a[c] x + b[c] z + d[c]; y may be x.
template <typename Z, typename X>
void ChannelCombine(size_t outer, size_t channels, size_t inner, const AccumulatorType<X>* a,
                    const X* x, const AccumulatorType<X>* b, const Z* z,
                    const AccumulatorType<X>* d, X* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BATCH_NORM_HPP_
