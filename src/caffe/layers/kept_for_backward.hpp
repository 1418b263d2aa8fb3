#ifndef CAFFE_LAYERS_KEPT_FOR_BACKWARD_HPP_
#define CAFFE_LAYERS_KEPT_FOR_BACKWARD_HPP_

#include "caffe/error.hpp"

namespace caffe {

/// What helps where a layer has overwritten its bottom and Backward needs what Forward has not kept
/// of it (Layer::keeps_for_backward).
inline Error::Remedy RemedyToKeep() {
  return {
      "give the top a name of its own, say force_backward: true in the net, or make the net in "
      "the TRAIN phase"};
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_KEPT_FOR_BACKWARD_HPP_
