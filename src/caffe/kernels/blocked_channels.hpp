#ifndef CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_
#define CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// Arrays (outer, channels / block, inner, block) whose last block is padded with zeros.
struct BlockedChannels {
  size_t outer, channels, inner, block;
};

// Counterparts of the functions of pixel_channels.hpp, of float and float16. Zeros stay in the
// padding.

template <typename T>
void BlockedMoments(const BlockedChannels& shape, const T* x, double* mean, double* variance);

/// z may be null where `dot` is.
template <typename X, typename Z>
void BlockedSums(const BlockedChannels& shape, const X* x, const Z* z, double* sum, double* dot);

template <typename T>
void BlockedAffine(const BlockedChannels& shape, const float* a, const float* b, const T* x, T* y);

template <typename T>
void BlockedAffineTwice(const BlockedChannels& shape, const float* a, const float* b,
                        const float* c, const float* d, const T* x, T* y, T* z);

template <typename Z, typename X>
void BlockedCombine(const BlockedChannels& shape, const float* a, const X* x, const float* b,
                    const Z* z, const float* d, X* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_
