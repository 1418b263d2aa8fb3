#ifndef CAFFE_KERNELS_CTC_HPP_
#define CAFFE_KERNELS_CTC_HPP_

#include <cstddef>

namespace caffe::kernels {

/// -log of the probability that `steps` rows of `classes` logits, `stride` elements apart, spell
/// the `length` labels (Graves, Fernandez, Gomez and Schmidhuber, "Connectionist Temporal
/// Classification", 2006): the sum over all paths that become the labels when equal neighbours are
/// merged and then blanks removed. Infinite if there are too few steps. Sums are in double.
///
/// gradient, if not null, becomes `scale` times the gradient of the logits, at the logits' places;
/// 0 where the result is infinite. T: float, double.
template <typename T>
double CtcLoss(int steps, int classes, size_t stride, const T* logits, const int* labels,
               int length, int blank, T scale, T* gradient);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CTC_HPP_
