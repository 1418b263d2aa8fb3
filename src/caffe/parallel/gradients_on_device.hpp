#ifndef CAFFE_GRADIENTS_ON_DEVICE_HPP_
#define CAFFE_GRADIENTS_ON_DEVICE_HPP_

#include "caffe/net.hpp"

namespace caffe {

struct GradientSums {
  double squares = 0;
  double infinite = 0;  ///< how many gradients are infinite or NaN
};

/// Of all gradients of a net's learnable parameters, summed up where they lie in GPU mode; waits
/// once, for the result. False, and nothing done, in CPU mode and in builds without CUDA.
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
