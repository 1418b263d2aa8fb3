#ifndef CAFFE_KERNELS_PIXELS_HPP_
#define CAFFE_KERNELS_PIXELS_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe::kernels {

/// A row of an image's bytes as numbers: y[i] = (x[i * step] - means[i]) * scale, or with the
/// single `mean` if `means` is null. T: float or double. Serial: threads work on different images.
template <typename T>
void NormalizePixels(size_t n, const uint8_t* x, size_t step, const T* means, T mean, T scale,
                     T* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PIXELS_HPP_
