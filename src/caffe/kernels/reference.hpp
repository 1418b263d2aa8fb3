#ifndef CAFFE_KERNELS_REFERENCE_HPP_
#define CAFFE_KERNELS_REFERENCE_HPP_

#include <cstddef>

#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/pooling.hpp"

namespace caffe::kernels {

// What engine REFERENCE runs: each operation by its definition, one result after another, with sums
// in double. The oracle of the tests; convolutions: kernels/convolution.hpp.
//
// T is the type of activations and weights, D of gradients: float, double or float16, double only
// together with double.

/// y (m, n) = x (m, k) W^T + bias, with W (n, k), or (k, n) if `transposed`; bias may be null.
template <typename T>
void ReferenceInnerProduct(size_t m, size_t n, size_t k, bool transposed, const T* x,
                           const T* weights, const T* bias, T* y);
/// dx (m, k) = dy W.
template <typename T, typename D>
void ReferenceInnerProductBackwardData(size_t m, size_t n, size_t k, bool transposed, const D* dy,
                                       const T* weights, D* dx);
/// Adds the gradients of W and, where they are not null, of the bias.
template <typename T, typename D>
void ReferenceInnerProductBackwardWeights(size_t m, size_t n, size_t k, bool transposed, const T* x,
                                          const D* dy, AccumulatorType<D>* d_weights,
                                          AccumulatorType<D>* d_bias);

/// y = the largest value in each window.
template <typename T>
void ReferenceMaxPooling(const PoolingShape& shape, const T* x, T* y);
/// dx = dy where the first of the largest values is, added up.
template <typename T, typename D>
void ReferenceMaxPoolingBackward(const PoolingShape& shape, const T* x, const D* dy, D* dx);
/// y = the mean of each window; padding counts, positions beyond it do not.
template <typename T>
void ReferenceAveragePooling(const PoolingShape& shape, const T* x, T* y);
template <typename D>
void ReferenceAveragePoolingBackward(const PoolingShape& shape, const D* dy, D* dx);

/// For (outer, channels, inner): y = exp(x) / sum over channels of exp(x).
template <typename T>
void ReferenceSoftmax(size_t outer, size_t channels, size_t inner, const T* x, T* y);
/// dx = y (dy - sum over channels of dy y).
template <typename T, typename D>
void ReferenceSoftmaxBackward(size_t outer, size_t channels, size_t inner, const T* y, const D* dy,
                              D* dx);

/// The formulas: lrn_layer.hpp.
template <typename T>
void ReferenceLrn(const LrnShape& shape, const T* x, T* y);
template <typename T, typename D>
void ReferenceLrnBackward(const LrnShape& shape, const T* x, const D* dy, D* dx);

/// Per channel of (num, channels, spatial): mean and (biased) variance.
template <typename T>
void ReferenceMoments(size_t num, size_t channels, size_t spatial, const T* x, double* mean,
                      double* variance);
/// y = scale (x - mean) / sqrt(variance + eps) + shift; scale and shift may be null. x and y may be
/// the same.
template <typename T>
void ReferenceBatchNorm(size_t num, size_t channels, size_t spatial, const T* x, const double* mean,
                        const double* variance, double eps, const double* scale,
                        const double* shift, T* y);
/// d_scale and d_shift are overwritten. `batch_statistics`: mean and variance are those of x and
/// depend on it. dx may be dy.
template <typename T, typename D>
void ReferenceBatchNormBackward(size_t num, size_t channels, size_t spatial, const T* x,
                                const double* mean, const double* variance, double eps,
                                const double* scale, bool batch_statistics, const D* dy, D* dx,
                                double* d_scale, double* d_shift);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_REFERENCE_HPP_
