#ifndef CAFFE_KERNELS_ELTWISE_HPP_
#define CAFFE_KERNELS_ELTWISE_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

// Two or more arrays of n elements, read and written once. T, D: float, double or float16; double
// only together with double. Sums and products of 16-bit types are in float and rounded once. y is
// none of the x but where it says so.

/// y = the sum of x[i].
template <typename T>
void AddArrays(size_t n, const std::vector<const T*>& x, T* y);
/// y = the sum of coefficients[i] x[i].
template <typename T>
void AddWeightedArrays(size_t n, const std::vector<const T*>& x,
                       const std::vector<AccumulatorType<T>>& coefficients, T* y);

/// y = the product of x[i].
template <typename T>
void MultiplyArrays(size_t n, const std::vector<const T*>& x, T* y);
/// dx = dy times the product of x[i] for i != `but`; dx may be dy.
template <typename T, typename D>
void MultiplyGradient(size_t n, const std::vector<const T*>& x, size_t but, const D* dy, D* dx);

/// y = the largest of x[i]. Ties go to the first, except that x[1] beats x[0]: as in Caffe, whose
/// nets were trained so.
template <typename T>
void MaximumOfArrays(size_t n, const std::vector<const T*>& x, T* y);
/// dx = dy where x[i] is the largest, 0 elsewhere.
template <typename T, typename D>
void MaximumGradient(size_t n, const std::vector<const T*>& x, size_t i, const D* dy, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_ELTWISE_HPP_
