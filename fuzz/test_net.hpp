#ifndef CAFFE_FUZZ_TEST_NET_HPP_
#define CAFFE_FUZZ_TEST_NET_HPP_

#include "caffe/io/proto_text.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "fuzz/fuzz.hpp"

namespace caffe::fuzz {

/// An input as the text of a small net for the TEST phase: parsed and upgraded. Throws Error.
inline NetParameter TestNetOf(const uint8_t* data, size_t size) {
  NetParameter net;
  ParseProtoText(TextOf(data, size), "net.prototxt", &net);
  UpgradeNetAsNeeded("net.prototxt", &net);
  RequireSmall(net);
  net.mutable_state()->set_phase(TEST);
  return net;
}

}  // namespace caffe::fuzz

#endif  // CAFFE_FUZZ_TEST_NET_HPP_
