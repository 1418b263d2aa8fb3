#ifndef CAFFE_KERNELS_CUDA_ACROSS_CHANNELS_HPP_
#define CAFFE_KERNELS_CUDA_ACROSS_CHANNELS_HPP_

#include <cstddef>

#include "caffe/device.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "caffe/kernels/lrn.hpp"

namespace caffe::cuda {

// What engines compute on a GPU across all or some of a pixel's channels, channels-last. The
// channels [channels, filled) of y become 0; `filled` is at most y.stride. Types and arithmetic are
// those of channels_last.hpp.

/// y = x / (k + alpha / size times the sum of the squares of the `size` channels around)^beta, with
/// the parameters of `lrn`, whose extents are not read. y must not be x.
void LrnOfPixels(Stream& stream, const kernels::LrnShape& lrn, int pixels, int channels, int filled,
                 const Pixels& x, const Pixels& y);

/// y = exp(x) divided by its sum over the channels. `scratch` has SoftmaxScratchBytes(pixels) on
/// the device. y may be x where strides and types are the same.
void SoftmaxOfPixels(Stream& stream, int pixels, int channels, int filled, const Pixels& x,
                     void* scratch, const Pixels& y);
size_t SoftmaxScratchBytes(int pixels);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_ACROSS_CHANNELS_HPP_
