// Nets as text: parsed, upgraded, and set up for testing.
#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateText)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    caffe::NetParameter net;
    caffe::ParseProtoText(caffe::fuzz::TextOf(data, size), "net.prototxt", &net);
    caffe::UpgradeNetAsNeeded("net.prototxt", &net);
    caffe::fuzz::RequireSmall(net);
    net.mutable_state()->set_phase(caffe::TEST);
    caffe::Net<float> made(net);
  });
}
