#ifndef CAFFE_KERNELS_LOSSES_HPP_
#define CAFFE_KERNELS_LOSSES_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

// T: float or double.

struct LossSum {
  double loss = 0;
  size_t counted = 0;  ///< terms
};
/// The sum over n logits x and targets t of -t log p - (1 - t) log(1 - p), where p = sigmoid(x).
/// Targets whose whole part is *ignored do not count; null: all do.
template <typename T>
LossSum SigmoidCrossEntropy(size_t n, const T* x, const T* t, const T* ignored);
/// dx = weight (p - t), 0 for those that do not count.
template <typename T>
void SigmoidCrossEntropyGradient(size_t n, T weight, const T* x, const T* t, const T* ignored,
                                 T* dx);

/// The sum over n differences d of SmoothL1Loss's penalties, sigma2 d^2 / 2 for |d| < 1 / sigma2
/// and |d| - 1 / (2 sigma2) beyond, times the weights, which may be null.
template <typename T>
double SmoothL1(size_t n, T sigma2, const T* d, const T* weights);
/// The penalties themselves.
template <typename T>
void SmoothL1Penalties(size_t n, T sigma2, const T* d, T* y);
/// Their derivatives: sigma2 d, at most 1 and at least -1; 0 for a NaN.
template <typename T>
void SmoothL1Gradient(size_t n, T sigma2, const T* d, T* slope);

/// dx = factor (p - target) for probabilities p of shape (outer, classes, inner), where the target
/// of a class is `smoothing` / classes, and 1 - `smoothing` more for the label. `labels` and
/// `factors` have shape (outer, inner); a negative label makes dx 0. D: float, double or float16.
template <typename D>
void SoftmaxLossGradient(size_t outer, size_t classes, size_t inner, double smoothing,
                         const int* labels, const AccumulatorType<D>* factors,
                         const AccumulatorType<D>* p, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_LOSSES_HPP_
