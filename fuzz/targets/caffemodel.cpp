// Weights for the small net.
#include "caffe/net.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateBinary)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static caffe::Net<float> net(caffe::fuzz::SmallNet());
  return caffe::fuzz::Try(
      [&] { net.CopyTrainedLayersFrom(caffe::fuzz::NewFile("net.caffemodel", data, size)); });
}
