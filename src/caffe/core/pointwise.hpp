#ifndef CAFFE_CORE_POINTWISE_HPP_
#define CAFFE_CORE_POINTWISE_HPP_

#include <vector>

#include "caffe/kernels/activation.hpp"

namespace caffe {

/// y = activation(scale[c] x + shift[c]), c being the channel (axis 1): all that some elementwise
/// layers compute in the TEST phase.
struct Pointwise {
  std::vector<float> scale, shift;  ///< one a channel, or empty: 1 and 0
  kernels::Activation activation;   ///< NONE, RELU or CLIP
};

}  // namespace caffe

#endif  // CAFFE_CORE_POINTWISE_HPP_
