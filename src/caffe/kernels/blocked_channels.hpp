#ifndef CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_
#define CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_

#include <cstddef>

namespace caffe::kernels {

/// Arrays (num, channels / block, spatial, block) whose last block is padded with zeros.
struct BlockedChannels {
  size_t num, channels, spatial, block;
};

// Counterparts of functions in batch_norm.hpp and elementwise.hpp, which are for Caffe's order.
// Vectors have one entry per channel. Threads work on different blocks of channels.

/// The mean and the biased variance of each channel, in two passes.
void BlockedMoments(const BlockedChannels& shape, const float* x, double* mean, double* variance);

/// sum[c] = the sum of x, dot[c] = the sum of x z; each may be null, and z with `dot`.
void BlockedSums(const BlockedChannels& shape, const float* x, const float* z, double* sum,
                 double* dot);

/// y = a[c] x + b[c] z + d[c]; the second term is left out if b and z are null, the third if d is;
/// y may be x.
void BlockedCombine(const BlockedChannels& shape, const float* a, const float* x, const float* b,
                    const float* z, const float* d, float* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_
