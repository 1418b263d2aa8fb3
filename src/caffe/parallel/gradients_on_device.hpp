#ifndef CAFFE_GRADIENTS_ON_DEVICE_HPP_
#define CAFFE_GRADIENTS_ON_DEVICE_HPP_

#include "caffe/net.hpp"

namespace caffe {

struct GradientSums {
  double squares = 0;
  double infinite = 0;  ///< how many gradients are infinite or NaN
};

/// The sums of all gradients of a net's learnable parameters, computed where these lie in GPU mode;
/// waits once, for the result. False, and nothing done, in CPU mode and in builds without CUDA.
#ifdef CPU_ONLY
template <typename Dtype>
bool SumGradientsOnDevice(const Net<Dtype>&, GradientSums*) {
  return false;
}
#else
template <typename Dtype>
bool SumGradientsOnDevice(const Net<Dtype>& net, GradientSums* sums);
#endif

}  // namespace caffe

#endif  // CAFFE_GRADIENTS_ON_DEVICE_HPP_
