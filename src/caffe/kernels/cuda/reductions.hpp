#ifndef CAFFE_KERNELS_CUDA_REDUCTIONS_HPP_
#define CAFFE_KERNELS_CUDA_REDUCTIONS_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/cuda/labels.hpp"

namespace caffe::cuda {

/// What is summed.
enum class Term { VALUE, ABSOLUTE, SQUARE };

/// y[row] = coefficient times the sum over x[row, :].
template <typename T, typename Y>
void ReduceTo(Stream& stream, Term term, int rows, int columns, double coefficient, const T* x,
              Y* y);
template <typename T, typename D, typename Y>
void ReduceToGradient(Stream& stream, Term term, int rows, int columns, double coefficient,
                      const T* x, const Y* dy, D* dx);

/// Where ArgMax writes result j < top_k of column `inner` of `outer`:
/// [outer * outer_stride + j * rank_stride + inner]; null: nowhere.
template <typename Y>
struct Found {
  Y* indices;
  Y* values;
  int outer_stride, rank_stride;
};

/// The top_k largest values along the middle axis of x, (outer, extent, inner), the largest first;
/// of equal ones the last first. NaN is smaller than all numbers.
template <typename T, typename Y>
void ArgMax(Stream& stream, int outer, int extent, int inner, int top_k, const T* x, Found<Y> y);

/// *accuracy = the fraction of the labelled positions (outer, inner) whose label's score is among
/// the top_k largest (smallest, if `least`) of the classes, equal scores counting as better; 0 if
/// there is no label. of_class[c], if not null, is the same for label c. With a label out of range
/// all are NaN.
template <typename T, typename Y>
void Accuracy(Stream& stream, int outer, int classes, int inner, int top_k, bool least,
              const T* scores, const Labels<Y>& labels, Y* accuracy, Y* of_class);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_REDUCTIONS_HPP_
