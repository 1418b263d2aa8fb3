#ifndef CAFFE_FUZZ_ONE_LAYER_HPP_
#define CAFFE_FUZZ_ONE_LAYER_HPP_

#include <string>

#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"

namespace caffe::fuzz {

/// Sets up a net of one layer of data for training, and runs it.
inline void RunLayer(const std::string& layer) {
  NetParameter net;
  ParseProtoText("layer { name: 'data' " + layer + " }", "the layer", &net);
  net.mutable_state()->set_phase(TRAIN);
  Net<float>(net).Forward();
}

}  // namespace caffe::fuzz

#endif  // CAFFE_FUZZ_ONE_LAYER_HPP_
