#ifndef CAFFE_KERNELS_POINTWISE_HPP_
#define CAFFE_KERNELS_POINTWISE_HPP_

#include <cstddef>

#include "caffe/kernels/fused_function.hpp"
#include "caffe/pointwise.hpp"

namespace caffe {
namespace kernels {

/// y = activation(scale[c] x + shift[c]) for x (num, channels / block, spatial, block), the last
/// block padded with zeros in x and in y; block 1 is Caffe's order, block = channels channels-last.
/// scale and shift have `channels` elements. In place if x is y.
void ApplyPointwise(size_t num, size_t channels, size_t spatial, size_t block, const float* scale,
                    const float* shift, const PointwiseActivation& activation, const float* x,
                    float* y);

/// y = function(activation(y)) for y as in ApplyPointwise; float or float16. A few numbers at a
/// time, which stay in the first cache.
template <typename T>
void FinishInPlace(size_t num, size_t channels, size_t spatial, size_t block,
                   const PointwiseActivation& activation, const FusedFunction& function, T* y);

/// y = activation(x), element by element.
void ApplyActivation(size_t n, const PointwiseActivation& activation, const float* x, float* y);

/// y = x > 0 ? x : slope[c] x for x as in ApplyPointwise.
void BlockedPRelu(size_t num, size_t channels, size_t spatial, size_t block, const float* slope,
                  const float* x, float* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POINTWISE_HPP_
