#ifndef CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_
#define CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_

#include <cstddef>

namespace caffe::kernels {

/// Arrays (num, channels / block, spatial, block) whose last block is padded with zeros.
struct BlockedChannels {
  size_t num, channels, spatial, block;
};

// What batch_norm.hpp and elementwise.hpp have for channels in Caffe's order. Vectors have an entry
// for each channel. Threads work on different blocks of channels.

/// The mean of each channel and the mean square of what differs from it, in two passes.
void BlockedMoments(const BlockedChannels& shape, const float* x, double* mean, double* variance);

/// sum[c] = the sum of x, dot[c] = the sum of x z; each may be null, and then z too.
void BlockedSums(const BlockedChannels& shape, const float* x, const float* z, double* sum,
                 double* dot);

/// y = a[c] x + b[c] z + d[c]; without b and z if they are null, without d if it is; y may be x.
void BlockedCombine(const BlockedChannels& shape, const float* a, const float* x, const float* b,
                    const float* z, const float* d, float* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BLOCKED_CHANNELS_HPP_
