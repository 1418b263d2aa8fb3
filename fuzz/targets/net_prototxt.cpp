// Nets as text: parsed, upgraded, and set up for testing.
#include "caffe/net.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"
#include "fuzz/test_net.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateText)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    const caffe::NetParameter net = caffe::fuzz::TestNetOf(data, size);
    caffe::Net<float> made(net);
  });
}
