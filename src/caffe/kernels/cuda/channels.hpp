#ifndef CAFFE_KERNELS_CUDA_CHANNELS_HPP_
#define CAFFE_KERNELS_CUDA_CHANNELS_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

// On device memory, for arrays of shape (outer, channels, inner) and numbers for each channel.
// T, D: float, double or float16; double only together with double. Arithmetic is in float for
// float16.

/// y = a[c] x + b[c]; a null means 1, b null 0. y may be x.
template <typename T>
void ChannelAffine(Stream& stream, int outer, int channels, int inner, const AccumulatorType<T>* a,
                   const AccumulatorType<T>* b, const T* x, T* y);

/// sum[c] = the sum over outer and inner of x, and dot[c] of x z, each unless it is null;
/// overwritten.
template <typename X, typename Z>
void ChannelSums(Stream& stream, int outer, int channels, int inner, const X* x, const Z* z,
                 double* sum, double* dot);

/// diff[c] += the sum over outer and inner of dy: the gradient of a bias.
template <typename D>
void AddChannelSums(Stream& stream, int outer, int channels, int inner, const D* dy,
                    AccumulatorType<D>* diff);

/// The mean and the biased variance of each channel. In two passes: squares of differences do not
/// cancel.
template <typename T>
void ChannelMoments(Stream& stream, int outer, int channels, int inner, const T* x,
                    AccumulatorType<T>* mean, AccumulatorType<T>* variance);

/// inverse[c] = 1 / sqrt(variance[c] + eps). F: float or double.
template <typename F>
void InverseDeviation(Stream& stream, int channels, const F* variance, double eps, F* inverse);

/// Sums of means and variances divided by their weight, one number; 0 if that is 0.
template <typename F>
void WeightedAverages(Stream& stream, int channels, const F* mean_sum, const F* variance_sum,
                      const F* weight, F* mean, F* variance);

/// average = keep average + add value, for means and, with the value times `variance_factor`, for
/// variances; weight[0] = keep weight[0] + 1 unless it is null. With `copies_first` averages that
/// are all 0 become the values.
template <typename F>
void UpdateAverages(Stream& stream, int channels, double keep, double add, double variance_factor,
                    bool copies_first, const F* mean, const F* variance, F* mean_average,
                    F* variance_average, F* weight);

/// normalized = (x - mean[c]) inverse_deviation[c], and y = f(scale[c] normalized + shift[c]), f
/// being a ReLU of this `slope` for negative numbers; 1: none. `normalized`, `scale` and `shift`
/// may be null; y may be x. `in_steps`: each is computed from the one before as it is stored in a
/// T, as layers of their own would; else only the last is rounded.
template <typename T>
void BatchNormForward(Stream& stream, int outer, int channels, int inner,
                      const AccumulatorType<T>* mean, const AccumulatorType<T>* inverse_deviation,
                      const AccumulatorType<T>* scale, const AccumulatorType<T>* shift, const T* x,
                      T* normalized, T* y, bool in_steps = false, AccumulatorType<T> slope = 1);

/// The ReLU of a BatchNormForward in steps, with its scale and shift, which may be null.
template <typename F>
struct ReluBehind {
  F slope;  ///< 1: there is none
  const F* scale;
  const F* shift;
};

/// ChannelSums of dy and dy normalized, where dy is the gradient in front of the ReLU, computed
/// from the `dy` behind it. dot must not be null.
template <typename T, typename D>
void BatchNormSums(Stream& stream, int outer, int channels, int inner, const T* normalized,
                   const ReluBehind<AccumulatorType<D>>& relu, const D* dy, double* sum,
                   double* dot);

/// dx = scale[c] inverse_deviation[c] (dy - mean_dy[c] - normalized mean_dot[c]), with the means of
/// dy and of dy normalized; without the last two terms if `mean_dy` is null. dy as in
/// BatchNormSums; `normalized` may be null without ReLU and means. dx may be `dy`.
template <typename T, typename D>
void BatchNormBackward(Stream& stream, int outer, int channels, int inner,
                       const AccumulatorType<D>* scale, const AccumulatorType<D>* inverse_deviation,
                       const double* mean_dy, const double* mean_dot, const T* normalized,
                       const ReluBehind<AccumulatorType<D>>& relu, const D* dy, D* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_CHANNELS_HPP_
