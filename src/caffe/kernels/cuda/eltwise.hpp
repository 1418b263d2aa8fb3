#ifndef CAFFE_KERNELS_CUDA_ELTWISE_HPP_
#define CAFFE_KERNELS_CUDA_ELTWISE_HPP_

#include <vector>

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

// Any number of arrays, at least one, of n elements in device memory. Sums and products are rounded
// once, at the end.

/// y = the sum of coefficients[i] x[i].
template <typename T>
void WeightedSum(Stream& stream, int n, const std::vector<const T*>& x,
                 const std::vector<AccumulatorType<T>>& coefficients, T* y);
/// y = the sum of x[i].
template <typename T>
void Sum(Stream& stream, int n, const std::vector<const T*>& x, T* y) {
  WeightedSum(stream, n, x, std::vector<AccumulatorType<T>>(x.size(), 1), y);
}

/// y = the product of x[i].
template <typename T>
void Product(Stream& stream, int n, const std::vector<const T*>& x, T* y);
/// dx = dy times the product of x[i] for i != `but`.
template <typename T, typename D>
void ProductGradient(Stream& stream, int n, const std::vector<const T*>& x, size_t but, const D* dy,
                     D* dx);

/// y = the largest of x[i]; which[k] = its i. Ties go to the first, except that x[1] beats x[0]. y
/// or which may be null.
template <typename T>
void Maximum(Stream& stream, int n, const std::vector<const T*>& x, T* y, int* which);
/// dx = dy where which is i, 0 elsewhere.
template <typename D>
void MaximumGradient(Stream& stream, int n, const int* which, int i, const D* dy, D* dx);

/// y = a x + b for `rows` rows of `length` elements with an element of a each.
template <typename T>
void ScaleRowsAdd(Stream& stream, int rows, int length, const AccumulatorType<T>* a, const T* x,
                  const T* b, T* y);
/// da = the sums over the rows of x dy.
template <typename T, typename D>
void RowDots(Stream& stream, int rows, int length, const T* x, const D* dy, D* da);
/// dx = a dy.
template <typename D>
void ScaleRows(Stream& stream, int rows, int length, const AccumulatorType<D>* a, const D* dy,
               D* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_ELTWISE_HPP_
