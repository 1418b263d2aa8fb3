#ifndef CAFFE_INFERENCE_GRAPH_TEST_IDENTITY_HPP_
#define CAFFE_INFERENCE_GRAPH_TEST_IDENTITY_HPP_

#include "caffe/operation.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe::inference {

/// True if top 0 has the values of bottom 0 in the TEST phase, whatever they are.
inline bool IsTestIdentity(const LayerParameter& layer) {
  if (layer.type() == "Power") {
    return layer.power_param().power() == 1 && layer.power_param().scale() == 1 &&
           layer.power_param().shift() == 0;
  }
  // Dropout that did not scale in training does so now; it may also keep dropping.
  if (layer.type() == "Dropout") {
    const DropoutParameter& param = layer.dropout_param();
    return param.dropout_ratio() == 0 || (param.scale_train() && !param.sample_weights_test());
  }
  return OperationTable::Of(layer.type()).test_identity;
}

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_TEST_IDENTITY_HPP_
