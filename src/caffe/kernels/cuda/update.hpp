#ifndef CAFFE_KERNELS_CUDA_UPDATE_HPP_
#define CAFFE_KERNELS_CUDA_UPDATE_HPP_

#include <cstddef>

#include "caffe/device.hpp"

namespace caffe::cuda {

// Update rules on device memory: one kernel changes all parameters of a net. T: float or double.

/// A parameter, its gradient and its update rule's history; device pointers.
template <typename T>
struct UpdatedParameter {
  int begin;        ///< elements of the parameters before it
  int first_block;  ///< blocks (see ParameterList) of the parameters before it
  int count;        ///< elements
  T* data;
  T* gradient;
  T* history[2];  ///< the second is nullptr for rules that have one
  T rate_multiplier, decay_multiplier;
};

/// All parameters of a net. For sums each is split into blocks of kBlock elements, the last one
/// shorter.
template <typename T>
struct ParameterList {
  static constexpr int kBlock = 4096;
  const UpdatedParameter<T>* entries;  ///< device memory
  int size;
  int total;       ///< elements of all
  int blocks;      ///< of all
  int max_blocks;  ///< of the largest
};

enum class Regularizer { NONE, L1, L2, DECOUPLED };

/// What happens to every gradient in an iteration, whatever the rule.
template <typename T>
struct UpdateStep {
  T unscale = 1, clip = 1, normalize = 1;  ///< factors, one after another
  Regularizer regularizer = Regularizer::NONE;
  T decay = 0;               ///< of the regulariser, before a parameter's multiplier
  T rate = 0;                ///< of learning, before a parameter's multiplier
  const T* rates = nullptr;  ///< instead of it, one for each parameter; device memory
  bool subtract = true;      ///< false: the caller will subtract the gradient from the parameter
};

// With u the rule's (kernels/update.hpp) update from the scaled and regularised gradient: w -= u,
// and the gradient becomes u, where programs look for the last update.

template <typename T>
void SgdUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step, T momentum);
template <typename T>
void NesterovUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                    T momentum);
template <typename T>
void AdaGradUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                   T delta);
template <typename T>
void RmsPropUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step, T decay,
                   T delta);
template <typename T>
void AdaDeltaUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                    T momentum, T delta);
/// step.rate (or rates) includes Adam's bias correction, which is also given separately for
/// `rates`.
template <typename T>
void AdamUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step, T beta1,
                T beta2, T delta, T correction);

/// Settings of LARC (sgd_solvers.hpp) for all parameters.
struct Larc {
  double eta, momentum;
  bool clips;  ///< bounds the rate; else it multiplies it
  bool turbo;
};
/// rates[i] = the rate that, times the parameter's multiplier, LARC gives parameter i in `step`;
/// updates the smoothed cosines of `turbo`. Both in device memory, list.size numbers.
template <typename T>
void LarcRates(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
               const Larc& larc, double* cosines, T* rates);

/// Adds to sums[0] the squares of n gradients, to sums[1] how many of them are infinite or NaN.
template <typename T>
void SumGradients(Stream& stream, size_t n, const T* gradients, double* sums);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_UPDATE_HPP_
