#ifndef CAFFE_KERNELS_UPDATE_HPP_
#define CAFFE_KERNELS_UPDATE_HPP_

#include <cstddef>

namespace caffe::kernels {

// Update rules for n parameters: each replaces the gradient g by the amount to subtract from the
// parameter, and updates its history. T: float or double. The rules: sgd_solvers.hpp.

template <typename T>
void SgdUpdate(size_t n, T rate, T momentum, T* g, T* history);
template <typename T>
void NesterovUpdate(size_t n, T rate, T momentum, T* g, T* history);
template <typename T>
void SagUpdate(size_t n, T rate, T momentum, T* g, T* history);
template <typename T>
void AdaGradUpdate(size_t n, T rate, T delta, T* g, T* history);
template <typename T>
void RmsPropUpdate(size_t n, T rate, T decay, T delta, T* g, T* history);
template <typename T>
void AdaDeltaUpdate(size_t n, T rate, T momentum, T delta, T* g, T* squares, T* updates);
/// `rate` includes Adam's bias correction.
template <typename T>
void AdamUpdate(size_t n, T rate, T beta1, T beta2, T delta, T* g, T* mean, T* squares);

/// g += decay w.
template <typename T>
void AddL2Gradient(size_t n, T decay, const T* w, T* g);
/// g += decay sign(w).
template <typename T>
void AddL1Gradient(size_t n, T decay, const T* w, T* g);

/// True if none of n numbers is infinite or NaN.
template <typename T>
bool AllFinite(size_t n, const T* x);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_UPDATE_HPP_
