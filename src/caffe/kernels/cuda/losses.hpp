#ifndef CAFFE_KERNELS_CUDA_LOSSES_HPP_
#define CAFFE_KERNELS_CUDA_LOSSES_HPP_

#include "caffe/device.hpp"
#include "caffe/kernels/cuda/labels.hpp"

namespace caffe::cuda {

// Losses on device memory. T is float or double; sums are double. **loss and *top_diff are single
// elements of device memory: the loss, and the factor of its gradient.

/// What DifferenceLoss sums: d^2 / 2, |d|, or SmoothL1's penalty.
struct Penalty {
  enum Kind { SQUARE, ABSOLUTE, SMOOTH } kind;
  double sigma2 = 1;  ///< for SMOOTH
};

/// difference = inside * (a - b); *loss = the sum of outside * penalty(difference), divided by
/// `divisor`. inside and outside may be null, meaning 1.
template <typename T>
void DifferenceLoss(Stream& stream, int n, const Penalty& penalty, double divisor, const T* a,
                    const T* b, const T* inside, const T* outside, T* difference, T* loss);
/// da and db, either of which may be null.
template <typename T>
void DifferenceLossGradient(Stream& stream, int n, const Penalty& penalty, double divisor,
                            const T* difference, const T* inside, const T* outside,
                            const T* top_diff, T* da, T* db);
/// each(outer, inner) = the sum over the channels of penalty(difference).
template <typename T>
void PenaltyOfEach(Stream& stream, int outer, int channels, int inner, const Penalty& penalty,
                   const T* difference, T* each);

/// Targets, one value of which may be ignored.
template <typename T>
struct Targets {
  const T* values;
  bool has_ignored;
  int ignored;
};
/// *loss = the sum of the cross entropies of sigmoid(x) with the targets, divided by `divisor` or,
/// if that is negative, by the number of those not ignored; *divided_by becomes that.
template <typename T>
void SigmoidLoss(Stream& stream, int n, const T* x, const Targets<T>& targets, double divisor,
                 T* loss, T* divided_by);
template <typename T>
void SigmoidLossGradient(Stream& stream, int n, const T* x, const Targets<T>& targets,
                         const T* top_diff, const T* divided_by, T* dx);

// (items, labels.classes) scores.

template <typename T>
void HingeLoss(Stream& stream, int items, bool squared, const T* x, const Labels<T>& labels,
               T* loss);
template <typename T>
void HingeLossGradient(Stream& stream, int items, bool squared, const T* x, const Labels<T>& labels,
                       const T* top_diff, T* dx);

/// Probabilities, raised to at least `least` before the logarithm.
template <typename T>
void LogisticLoss(Stream& stream, int items, T least, const T* p, const Labels<T>& labels, T* loss);
template <typename T>
void LogisticLossGradient(Stream& stream, int items, T least, const T* p, const Labels<T>& labels,
                          const T* top_diff, T* dp);

/// Pairs of rows of `values` elements, and which of them are similar (not 0).
template <typename T>
struct Pairs {
  int count, values;
  const T* similar;
  T margin;
  bool legacy;
};
/// difference = a - b; squares[pair] = its squared length.
template <typename T>
void ContrastiveLoss(Stream& stream, const Pairs<T>& pairs, const T* a, const T* b, T* difference,
                     T* squares, T* loss);
/// da and db, either of which may be null.
template <typename T>
void ContrastiveLossGradient(Stream& stream, const Pairs<T>& pairs, const T* difference,
                             const T* squares, const T* top_diff, T* da, T* db);

/// distance = x - centers[label], of shape (items, values).
template <typename T>
void CenterLoss(Stream& stream, int items, int values, const T* x, const Labels<T>& labels,
                const T* centers, T* distance, T* loss);
/// d_centers[c] -= the sum of the distances of the items of label c, divided by 1 + their number.
template <typename T>
void CenterGradient(Stream& stream, int items, int values, const Labels<T>& labels,
                    const T* distance, T* d_centers);
/// dx = *top_diff * factor * x.
template <typename T>
void ScaledBy(Stream& stream, int n, double factor, const T* top_diff, const T* x, T* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_LOSSES_HPP_
