#ifndef CAFFE_KERNELS_PERMUTE_CHANNELS_HPP_
#define CAFFE_KERNELS_PERMUTE_CHANNELS_HPP_

#include <cstddef>

#include "caffe/float16.hpp"

namespace caffe::kernels {

// T: float, double, float16; elements are moved as they are.

/// y[n, column, row, :] = x[n, row, column, :] for pieces of `inner` elements.
template <typename T>
void TransposePieces(size_t num, size_t rows, size_t columns, size_t inner, const T* x, T* y);

/// y[n, i, j, c, h, w] = x[n, c, h, i, w, j], where i and j < stride, c < channels, h < height and
/// w < width: the phases of larger planes become planes of their own.
template <typename T>
void SpaceToDepth(size_t num, int channels, int height, int width, int stride, const T* x, T* y);
/// The inverse: y[n, c, h, i, w, j] = x[n, i, j, c, h, w].
template <typename T>
void DepthToSpace(size_t num, int channels, int height, int width, int stride, const T* x, T* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PERMUTE_CHANNELS_HPP_
