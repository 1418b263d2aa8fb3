#ifndef CAFFE_KERNELS_CUDA_DISTANCES_HPP_
#define CAFFE_KERNELS_CUDA_DISTANCES_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/cuda/labels.hpp"

namespace caffe::cuda {

// T is float or double.

/// y (m, n) = the squared (or absolute) distances of the m rows x to the n centers, of k values
/// each, plus bias[n] if it is not null.
template <typename T>
void InnerDistance(Stream& stream, int m, int n, int k, bool squared, const T* x, const T* centers,
                   const T* bias, T* y);
/// The gradient for x.
template <typename T>
void InnerDistanceGradient(Stream& stream, int m, int n, int k, bool squared, const T* x,
                           const T* centers, const T* dy, T* dx);
/// The gradient for the centers, accumulated if `add`.
template <typename T>
void InnerDistanceCenterGradient(Stream& stream, int m, int n, int k, bool squared, const T* x,
                                 const T* centers, const T* dy, bool add, T* d_centers);

/// norm[row] = the length of a row of x.
template <typename T>
void RowNorms(Stream& stream, int rows, int columns, const T* x, T* norm);
/// y = x with rows of length 1; zeros stay.
template <typename T>
void NormaliseRows(Stream& stream, int rows, int columns, const T* x, T* y);

/// MarginInnerProduct's (m: `margin`) effect on y (items, classes) at each item's label, and its
/// contribution to the gradient dx (items, k), on top of that of the product of x with the weights.
template <typename T>
void ApplyMargin(Stream& stream, int items, int margin, T lambda, const T* norm,
                 const Labels<T>& labels, T* y);
template <typename T>
void AddMarginGradient(Stream& stream, int items, int k, int margin, T lambda, const T* x,
                       const T* weights, const T* norm, const Labels<T>& labels, const T* dy,
                       T* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_DISTANCES_HPP_
