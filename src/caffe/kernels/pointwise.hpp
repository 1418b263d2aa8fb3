#ifndef CAFFE_KERNELS_POINTWISE_HPP_
#define CAFFE_KERNELS_POINTWISE_HPP_

#include <cstddef>

#include "caffe/kernels/activation.hpp"

namespace caffe::kernels {

/// y = activation(scale[c] x + shift[c]) for x (num, channels / block, spatial, block), the last
/// block padded with zeros in x and in y; block 1 is Caffe's order, block = channels channels-last.
/// scale and shift have `channels` elements; the activation is NONE, RELU or CLIP. In place if x is
/// y.
void ApplyPointwise(size_t num, size_t channels, size_t spatial, size_t block, const float* scale,
                    const float* shift, const Activation& activation, const float* x, float* y);

/// y = activation(y) for y as in ApplyPointwise, PRELU too; float or float16. A few numbers at a
/// time, which stay in the L1 cache.
template <typename T>
void ActivateInPlace(size_t num, size_t channels, size_t spatial, size_t block,
                     const Activation& activation, T* y);

/// y = x > 0 ? x : slope[c] x for x as in ApplyPointwise.
void BlockedPRelu(size_t num, size_t channels, size_t spatial, size_t block, const float* slope,
                  const float* x, float* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_POINTWISE_HPP_
